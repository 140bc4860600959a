// Plays many devices at once by the protocol and measures the receiver. `load --help` lists the options.

#include "measure.h"
#include "mqtt.h"
#include "stream.h"
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char help[] =
    "usage: load --port PORT --sessions N [option ...]\n"
    "\n"
    "Publishes the items of N running sessions, one device each, and prints measurements as `key=value`.\n"
    "\n"
    "  --batch N        items in a message (1)\n"
    "  --qos N          0 or 1 (0)\n"
    "  --rate N         messages a second of all devices together (as many as acknowledgements allow)\n"
    "  --in-flight N    unacknowledged messages of all devices together (10000)\n"
    "  --warm-up S      seconds before the measurement begins (2)\n"
    "  --seconds S      seconds of measurement (5)\n"
    "  --items N        measures until N items of each session are acknowledged, instead of for --seconds\n"
    "  --age S          start of the sessions, in seconds before now (0)\n"
    "  --first N        number of the first item (0)\n"
    "  --known          the broker already has the sessions' states\n"
    "  --since T        measures until an acknowledgement advances for every session, in seconds after the Unix time T,\n"
    "                   instead of for --seconds\n"
    "  --locations      sends locations instead of samples\n"
    "  --metrics        also measures the time until items are in the live metrics\n"
    "  --measure PID    process id of the receiver, for its CPU and memory\n"
    "  --server PID     process id of the receiver's database server, whose CPU counts as the receiver's\n"
    "  --count-file F   the receiver does not acknowledge; it counts messages in the first eight bytes of F\n";

enum { CONNECTIONS = 4 };
/// Seconds: without an acknowledgement until a device sends again, and until the run fails; for items in flight at the end;
/// for all sessions to advance after a restart.
static const double stall = 5, timeout = 60, drain_limit = 20, restart_limit = 60;

static struct {
    int port, sessions, batch, qos, in_flight, measured, server;
    double rate, warm_up, seconds, age, since;
    int64_t items, first;
    const char *count_file;
    enum kind kind;
    bool is_known, with_metrics;
} options = {.batch = 1, .in_flight = 10000, .warm_up = 2, .seconds = 5};

static struct connection connections[CONNECTIONS];
static struct stream *streams;
/// Streams that may send, in the order in which their windows opened.
static int *queue, queue_start, queue_count;
static int64_t start_milliseconds;
/// Of all streams: items in flight and acknowledged, messages sent and sent again.
static int64_t under_way, acknowledged, sent, resent;
static int moved;
static double acknowledged_at;
static struct durations to_ack, to_metrics, to_move;
/// Batches count from this time on; infinite before the measurement.
static double measured_from = INFINITY;
/// The count of a receiver that does not acknowledge.
static const _Atomic uint64_t *counted;

static void fail(const char *why) {
    fprintf(stderr, "load: %s\n", why);
    exit(1);
}

// MARK: Sending

static void enqueue(int number) {
    struct stream *stream = &streams[number];
    if (stream->is_queued || !may_send(stream, options.batch)) return;
    stream->is_queued = true;
    queue[(queue_start + queue_count++) % options.sessions] = number;
}

static void send_batch(int number, double time) {
    static char *payload;
    if (payload == NULL) payload = malloc(batch_size(options.batch));
    struct stream *stream = &streams[number];
    char topic[128];
    struct message message = {.topic = topic, .payload = payload};
    message.topic_length = write_topic(
        topic, sizeof topic, number, options.kind == LOCATIONS ? "locations/watch-bench" : "samples/watch-bench");
    message.payload_length = write_batch(payload, options.kind, stream->next, options.batch, start_milliseconds, true);
    publish(&connections[number % CONNECTIONS], message, options.qos, false);
    if (stream->next == stream->acknowledged) stream->moved_at = time;
    if (stream->next == stream->sent) {
        stream->sent_at[stream->next / options.batch % (2 * BATCH_WINDOW)] = time;
        stream->sent += options.batch;
    } else {
        resent++;
    }
    stream->next += options.batch;
    under_way += options.batch;
    sent++;
}

static bool is_full(void) {
    if (counted != NULL) return (uint64_t)sent - *counted >= (uint64_t)options.in_flight;
    return under_way >= (int64_t)options.in_flight * options.batch;
}

/// Sends what the windows allow: the whole window of one device, then of the next, as acknowledged devices do.
static void send_batches(double time) {
    while (queue_count > 0 && !is_full()) {
        int number = queue[queue_start];
        struct stream *stream = &streams[number];
        while (may_send(stream, options.batch) && !is_full()) send_batch(number, time);
        if (counted != NULL) {
            under_way -= stream->next - stream->acknowledged;
            stream->acknowledged = stream->next;
        }
        if (counted == NULL && is_full() && may_send(stream, options.batch)) break;
        queue_start = (queue_start + 1) % options.sessions;
        queue_count--;
        stream->is_queued = false;
        enqueue(number);
    }
}

static void go_back(int number, double time) {
    struct stream *stream = &streams[number];
    under_way -= stream->next - stream->acknowledged;
    stream->next = stream->acknowledged;
    stream->moved_at = time;
    enqueue(number);
}

// MARK: Receiving

static void handle_ack(int number, int64_t next, double time) {
    struct stream *stream = &streams[number];
    if (next > stream->acknowledged && next <= stream->sent) {
        for (int64_t first = stream->acknowledged; first < next; first += options.batch) {
            double sent_at = stream->sent_at[first / options.batch % (2 * BATCH_WINDOW)];
            if (sent_at >= measured_from) add_duration(&to_ack, time - sent_at);
        }
        if (stream->acknowledged == options.first) {
            moved++;
            add_duration(&to_move, time - options.since);
        }
        acknowledged += next - stream->acknowledged;
        // An acknowledgement may cover items that are still to be sent again.
        if (next > stream->next) {
            under_way += next - stream->next;
            stream->next = next;
        }
        under_way -= next - stream->acknowledged;
        stream->acknowledged = next;
        stream->moved_at = acknowledged_at = time;
    } else if (next == stream->acknowledged && stream->next > next && stream->went_back_for != next) {
        stream->went_back_for = next;
        go_back(number, time);
    }
    enqueue(number);
}

static void handle_metrics(int number, int64_t shown, double time) {
    struct stream *stream = &streams[number];
    for (; stream->shown + options.batch <= shown; stream->shown += options.batch) {
        double sent_at = stream->sent_at[stream->shown / options.batch % (2 * BATCH_WINDOW)];
        if (sent_at >= measured_from) add_duration(&to_metrics, time - sent_at);
    }
}

static bool read_field(struct message message, const char *key, int64_t *value) {
    const char *found = memmem(message.payload, message.payload_length, key, strlen(key));
    if (found == NULL) return false;
    *value = strtoll(found + strlen(key), NULL, 10);
    return true;
}

static void handle(struct message message) {
    const char *rest;
    int64_t items;
    int number = read_topic(message.topic, message.topic_length, &rest);
    if (number < 0 || number >= options.sessions) return;
    if ((*rest == 's' || *rest == 'l') && read_field(message, "{\"n\":", &items)) {
        handle_ack(number, items, now());
    } else if (*rest == 'm' && read_field(message, ",\"n\":", &items)) {
        handle_metrics(number, items, now());
    } else {
        fprintf(stderr, "load: unexpected answer: %.*s\n", (int)message.payload_length, message.payload);
        exit(1);
    }
}

// MARK: The run

static void flush_all(void) {
    for (int index = 0; index < CONNECTIONS; index++) flush(&connections[index]);
}

static void wait_and_receive(void) {
    struct pollfd waits[CONNECTIONS];
    for (int index = 0; index < CONNECTIONS; index++) {
        short events = POLLIN | (unwritten(&connections[index]) > 0 ? POLLOUT : 0);
        waits[index] = (struct pollfd){.fd = connections[index].socket, .events = events};
    }
    poll(waits, CONNECTIONS, 1);
    for (int index = 0; index < CONNECTIONS; index++) {
        if (waits[index].revents & POLLIN) receive(&connections[index], handle);
    }
}

/// Gives every stream in turn the items that are due.
static void raise_due(double elapsed) {
    static int64_t given;
    for (int64_t due = (int64_t)(elapsed * options.rate); given < due; given++) {
        int number = (int)(given % options.sessions);
        streams[number].due += options.batch;
        enqueue(number);
    }
}

static void look_for_stalls(double time) {
    static double looked_at;
    if (counted != NULL || time - looked_at < 0.5) return;
    looked_at = time;
    for (int number = 0; number < options.sessions; number++) {
        struct stream *stream = &streams[number];
        if (stream->next > stream->acknowledged && time - stream->moved_at > stall) go_back(number, time);
    }
}

static void show_progress(double time) {
    static double shown_at;
    if (time - shown_at < 10) return;
    if (shown_at > 0) fprintf(stderr, "    %lld items acknowledged\n", (long long)acknowledged);
    shown_at = time;
}

static void turn(double time) {
    send_batches(time);
    flush_all();
    wait_and_receive();
    look_for_stalls(time);
    show_progress(time);
}

static int64_t durable_items(void) { return counted != NULL ? (int64_t)*counted * options.batch : acknowledged; }

static int64_t unacknowledged(void) {
    int64_t items = 0;
    for (int number = 0; number < options.sessions; number++)
        items += streams[number].sent - streams[number].acknowledged;
    return items;
}

static double receiver_cpu(void) { return cpu_seconds(options.measured) + tree_cpu_seconds(options.server); }

static void run_for_a_time(void) {
    double begin = now(), time = begin, cpu = 0;
    int64_t items = 0;
    while ((time = now()) < begin + options.warm_up + options.seconds) {
        if (measured_from > time && time >= begin + options.warm_up) {
            measured_from = time;
            items = durable_items();
            cpu = receiver_cpu();
        }
        if (options.rate > 0) raise_due(time - begin);
        turn(time);
    }
    items = durable_items() - items;
    cpu = receiver_cpu() - cpu;
    double seconds = time - measured_from;
    measured_from = INFINITY;
    printf("messages_per_second=%.0f items_per_second=%.0f ", items / seconds / options.batch, items / seconds);
    printf("cpu_us=%.2f cpu_percent=%.0f ", items > 0 ? cpu / (double)items * 1e6 : INFINITY, cpu / seconds * 100);
}

static void drain(void) {
    for (int number = 0; number < options.sessions; number++) {
        // No new items: only those in flight, and their repetitions.
        if (options.items == 0) streams[number].due = streams[number].sent;
    }
    double begin = now();
    while (unacknowledged() > 0 && now() < begin + drain_limit) turn(now());
}

/// When acknowledgements had advanced for a fraction of all sessions; infinite if they never did.
static double moved_after(double part) {
    if (moved < part * options.sessions) return INFINITY;
    return quantile(&to_move, part * options.sessions / moved);
}

static void run(void) {
    if (options.since > 0) {
        double begin = now();
        while (moved < options.sessions && now() < begin + restart_limit) {
            raise_due(now() - begin);
            turn(now());
        }
        printf("moved=%d first_ack=%.2f ", moved, quantile(&to_move, 0));
        printf("half_acked=%.2f all_acked=%.2f ", moved_after(0.5), moved_after(1));
    } else if (options.items > 0) {
        double begin = acknowledged_at = now();
        while (acknowledged < options.items * options.sessions) {
            turn(now());
            if (now() - acknowledged_at > timeout) fail("no more acknowledgements");
        }
        printf("seconds=%.1f items_per_second=%.0f ", now() - begin, (double)acknowledged / (now() - begin));
    } else {
        run_for_a_time();
    }
    if (counted == NULL) drain();
}

// MARK: The beginning

static void map_count(void) {
    int file = open(options.count_file, O_RDONLY);
    void *memory = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *counted, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        perror(options.count_file);
        exit(1);
    }
    counted = memory;
}

static void open_connections(void) {
    for (int index = 0; index < CONNECTIONS; index++) {
        char client_id[16];
        snprintf(client_id, sizeof client_id, "load-%d", index);
        open_connection(&connections[index], options.port, client_id);
    }
    subscribe(
        &connections[0],
        options.kind == LOCATIONS ? "pacebus/v1/+/+/+/locations/+/ack" : "pacebus/v1/+/+/+/samples/+/ack");
    if (options.with_metrics) subscribe(&connections[0], "pacebus/v1/+/+/+/metrics");
    settle(&connections[0], handle);
}

static void make_sessions(void) {
    double start = now() - options.age;
    start_milliseconds = (int64_t)(start * 1000);
    streams = calloc((size_t)options.sessions, sizeof *streams);
    queue = calloc((size_t)options.sessions, sizeof *queue);
    for (int number = 0; number < options.sessions; number++) {
        bool is_paced = options.rate > 0 || options.since > 0;
        int64_t due = is_paced ? options.first : options.items > 0 ? options.first + options.items : INT64_MAX / 2;
        streams[number] = (struct stream){
            .due = due,
            .next = options.first,
            .acknowledged = options.first,
            .shown = options.first,
            .sent = options.first,
            .went_back_for = -1};
        enqueue(number);
        if (options.is_known) continue;
        char topic[128], state[1024];
        struct message message = {.topic = topic, .payload = state};
        message.topic_length = write_topic(topic, sizeof topic, number, "state");
        message.payload_length = write_state(state, sizeof state, number, start);
        publish(&connections[0], message, 1, true);
        if (number % 1000 == 999) settle(&connections[0], handle);
    }
    settle(&connections[0], handle);
}

enum {
    PORT = 1,
    SESSIONS,
    BATCH,
    QOS,
    RATE,
    IN_FLIGHT,
    WARM_UP,
    SECONDS,
    ITEMS,
    AGE,
    FIRST,
    KNOWN,
    SINCE,
    LOCATION_ITEMS,
    METRICS,
    MEASURE,
    SERVER,
    COUNT_FILE,
    HELP
};

static void read_options(int argc, char **argv) {
    static const struct option known[] = {
        {"port", 1, 0, PORT}, {"sessions", 1, 0, SESSIONS}, {"batch", 1, 0, BATCH}, {"qos", 1, 0, QOS},
        {"rate", 1, 0, RATE}, {"in-flight", 1, 0, IN_FLIGHT}, {"warm-up", 1, 0, WARM_UP}, {"seconds", 1, 0, SECONDS},
        {"items", 1, 0, ITEMS}, {"age", 1, 0, AGE}, {"first", 1, 0, FIRST}, {"known", 0, 0, KNOWN},
        {"since", 1, 0, SINCE}, {"locations", 0, 0, LOCATION_ITEMS}, {"metrics", 0, 0, METRICS},
        {"measure", 1, 0, MEASURE}, {"server", 1, 0, SERVER}, {"count-file", 1, 0, COUNT_FILE}, {"help", 0, 0, HELP},
        {0, 0, 0, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case PORT: options.port = atoi(optarg); break;
        case SESSIONS: options.sessions = atoi(optarg); break;
        case BATCH: options.batch = atoi(optarg); break;
        case QOS: options.qos = atoi(optarg); break;
        case RATE: options.rate = atof(optarg); break;
        case IN_FLIGHT: options.in_flight = atoi(optarg); break;
        case WARM_UP: options.warm_up = atof(optarg); break;
        case SECONDS: options.seconds = atof(optarg); break;
        case ITEMS: options.items = atoll(optarg); break;
        case AGE: options.age = atof(optarg); break;
        case FIRST: options.first = atoll(optarg); break;
        case KNOWN: options.is_known = true; break;
        case SINCE: options.since = atof(optarg); break;
        case LOCATION_ITEMS: options.kind = LOCATIONS; break;
        case METRICS: options.with_metrics = true; break;
        case MEASURE: options.measured = atoi(optarg); break;
        case SERVER: options.server = atoi(optarg); break;
        case COUNT_FILE: options.count_file = optarg; break;
        case HELP: fputs(help, stdout); exit(0);
        default: fputs(help, stderr); exit(1);
        }
    }
    if (options.port <= 0 || options.sessions <= 0 || options.batch <= 0 || optind < argc) {
        fputs(help, stderr);
        exit(1);
    }
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    if (options.count_file != NULL) map_count();
    long memory = resident_kilobytes(options.measured);
    open_connections();
    make_sessions();
    run();
    printf("resent=%lld lost=%lld ", (long long)resent, (long long)(counted != NULL ? 0 : unacknowledged()));
    printf("ack_p50=%.4f ack_p99=%.4f ", quantile(&to_ack, 0.5), quantile(&to_ack, 0.99));
    printf("metrics_p50=%.4f metrics_p99=%.4f ", quantile(&to_metrics, 0.5), quantile(&to_metrics, 0.99));
    memory = resident_kilobytes(options.measured) - memory;
    printf("session_bytes=%.0f\n", (double)memory * 1024 / options.sessions);
}
