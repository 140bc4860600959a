// Runs many live sessions as their devices do and measures all processes. `fleet --help` lists the options.

#include "measure.h"
#include "mqtt.h"
#include "sender.h"
#include "stream.h"
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: fleet --port PORT --sessions N [option ...]\n"
    "\n"
    "Starts N sessions, one user each, through session-engine. Each sends a sample and a location every second, one item a\n"
    "message, with the reference client's rules for acknowledgements, rewinds and stalls. Beyond these rules one batch in 60\n"
    "of each stream asks for an acknowledgement, at another time for each session, so that the delay is known.\n"
    "Prints measurements as `key=value`.\n"
    "\n"
    "  --warm-up S         seconds from the first item until the measurement begins (10)\n"
    "  --seconds S         seconds of measurement (20)\n"
    "  --history N         first sends N items of each stream, of the time before now, in batches of 100\n"
    "  --published FILE    receives a line for each sample of the first session: its heart rate and the time\n"
    "  --process NAME=PID  measures the CPU, memory and written bytes of a process; up to 16 of them\n"
    "  --restarts          instead of the measurement runs until it is killed; at each SIGUSR1 asks for every\n"
    "                      acknowledgement of samples, at SIGUSR2 of locations, and prints `back=` when all these\n"
    "                      streams have one for a newer item\n";

enum { CONNECTIONS = 4, STARTS_IN_FLIGHT = 200, SENDERS_OF_HISTORY = 96, PROCESSES = 16, ASK_EVERY = 60 };
/// Seconds: between turns, between looks for stalls, between progress lines, until a command is repeated; without an answer until
/// the run fails; for acknowledgements that are pending at the end of the measurement, and for all items afterwards.
static const double turn_length = 0.002, look_interval = 0.5, progress_interval = 10, command_timeout = 5,
                    answer_timeout = 60, ask_limit = 2.5, drain_limit = 20;

static struct {
    int port, sessions;
    int64_t history;
    double warm_up, seconds;
    bool is_restarting;
    FILE *published;
} options = {.warm_up = 10, .seconds = 20};

struct session {
    struct sender senders[2];
    /// The time of item 0 in milliseconds, had all items come live.
    int64_t origin;
    /// When the start was last sent; infinite once the engine has accepted it.
    double started_at;
};

static struct process {
    const char *name;
    int pid;
    double cpu;
    long written;
} processes[PROCESSES];
static int process_count;

static struct connection connections[CONNECTIONS];
static struct session *sessions;
static int started;
static double answered_at;
static int64_t acknowledged[2], repeated;
/// Delays count if their batch was due before `measured_until` and their acknowledgement comes after `measured_from`.
static double measured_from = INFINITY, measured_until = INFINITY;
static struct durations to_ack, to_return;
/// Of the restart that is measured: when it began, 0 for none, what its service stores, and for each session the next item
/// at that time.
static double restarted_at;
static enum kind restarted_kind;
static int64_t *marks;
static volatile sig_atomic_t signal_number;

static void fail(const char *what, struct message message) {
    fprintf(
        stderr, "fleet: %s: %.*s %.*s\n", what, (int)message.topic_length, message.topic, (int)message.payload_length,
        message.payload);
    exit(1);
}

static void note_signal(int number) { signal_number = number; }

// MARK: Sending

static void ask(struct sender *sender, struct batch *batch, double due) {
    batch->asks_ack = true;
    if (sender->asked_at > 0) return;
    sender->asked_at = due;
    sender->asked_end = batch->first + batch->count;
}

static void note_published(int64_t first, int64_t last) {
    for (int64_t item = first; item <= last; item++) fprintf(options.published, "%d %.6f\n", heart_rate(item), now());
    fflush(options.published);
}

/// Sends what a stream's window allows. `due` is the time of the newest item, or now for older ones.
static void send_batches(int number, enum kind kind, double due) {
    static char *payload;
    if (payload == NULL) payload = malloc(batch_size(SENDER_BATCH));
    struct session *session = &sessions[number];
    struct sender *sender = &session->senders[kind];
    struct batch batches[SENDER_TURN];
    char topic[128];
    struct message message = {.topic = topic, .payload = payload};
    int count = take_batches(sender, now(), batches);
    if (count == 0) return;
    message.topic_length =
        write_topic(topic, sizeof topic, number, kind == LOCATIONS ? "locations/watch-bench" : "samples/watch-bench");
    for (int index = 0; index < count; index++) {
        struct batch *batch = &batches[index];
        int64_t last = batch->first + batch->count - 1;
        bool is_measured = restarted_at > 0 && kind == restarted_kind;
        if (batch->asks_ack || is_measured || (last + number) % ASK_EVERY == 0) ask(sender, batch, due);
        repeated += batch->is_repeated;
        message.payload_length =
            write_batch(payload, kind, batch->first, batch->count, session->origin, batch->asks_ack);
        publish(&connections[number % CONNECTIONS], message, 0, false);
        if (options.published && number == 0 && kind == SAMPLES) note_published(batch->first, last);
    }
}

static void send_start(int number, double time) {
    char topic[128], payload[512], at[40] = "";
    if (options.history > 0) snprintf(at, sizeof at, ",\"at\":%.3f", (double)sessions[number].origin / 1000);
    struct message message = {.topic = topic, .payload = payload};
    message.topic_length = write_topic(topic, sizeof topic, number, "command");
    message.payload_length = (size_t)snprintf(
        payload, sizeof payload,
        "{\"id\":\"00000000-0000-4000-9000-%012x\",\"client\":\"fleet\",\"type\":\"start\",\"activity\":\"running\","
        "\"environment\":\"outdoor\",\"countdown\":0,\"timeZone\":\"Europe/Berlin\","
        "\"place\":{\"la\":47,\"lo\":8}%s}",
        number, at);
    publish(&connections[number % CONNECTIONS], message, 1, false);
    sessions[number].started_at = time;
}

// MARK: Receiving

static bool has(struct message message, const char *text) {
    return memmem(message.payload, message.payload_length, text, strlen(text)) != NULL;
}

static void handle_reply(struct message message) {
    const char *found = memmem(message.topic, message.topic_length, "/bench-", 7);
    int number = found == NULL ? -1 : atoi(found + 7);
    if (number < 0 || number >= options.sessions || !has(message, "\"ok\":true")) fail("a start is refused", message);
    if (isinf(sessions[number].started_at)) return;
    sessions[number].started_at = INFINITY;
    started++;
}

/// After a restart: the first acknowledgement of an item that was sent later.
static void note_return(int number, enum kind kind, double time) {
    if (restarted_at == 0 || kind != restarted_kind) return;
    if (sessions[number].senders[kind].acknowledged <= marks[number]) return;
    marks[number] = INT64_MAX;
    add_duration(&to_return, time - restarted_at);
    if (to_return.count < (size_t)options.sessions) return;
    printf(
        "first=%.2f half=%.2f back=%.2f\n", quantile(&to_return, 0), quantile(&to_return, 0.5),
        quantile(&to_return, 1));
    fflush(stdout);
    restarted_at = 0;
}

static void handle_ack(int number, enum kind kind, int64_t next, double time) {
    struct sender *sender = &sessions[number].senders[kind];
    int64_t before = sender->acknowledged;
    if (take_ack(sender, next, time)) {
        acknowledged[kind] += sender->acknowledged - before;
        if (sender->asked_at > 0 && sender->asked_end <= sender->acknowledged) {
            if (time >= measured_from && sender->asked_at < measured_until)
                add_duration(&to_ack, time - sender->asked_at);
            sender->asked_at = 0;
        }
        note_return(number, kind, time);
    }
    send_batches(number, kind, time);
}

static void handle(struct message message) {
    double time = now();
    const char *rest;
    int number = read_topic(message.topic, message.topic_length, &rest);
    answered_at = time;
    if (number < 0) return handle_reply(message);
    const char *next = memmem(message.payload, message.payload_length, "\"n\":", 4);
    if (number >= options.sessions || next == NULL || has(message, "\"error\":")) fail("unexpected answer", message);
    handle_ack(number, *rest == 'l' ? LOCATIONS : SAMPLES, strtoll(next + 4, NULL, 10), time);
}

// MARK: Phases

/// Writes, waits for a moment, so that many messages share a call of the system, and reads.
static void turn(void) {
    for (int index = 0; index < CONNECTIONS; index++) flush(&connections[index]);
    usleep((useconds_t)(turn_length * 1e6));
    for (int index = 0; index < CONNECTIONS; index++) receive(&connections[index], handle);
}

static void look_for_stalls(double time) {
    static double looked_at;
    if (time - looked_at < look_interval) return;
    looked_at = time;
    for (int number = 0; number < options.sessions; number++) {
        for (enum kind kind = SAMPLES; kind <= LOCATIONS; kind++) send_batches(number, kind, time);
    }
}

static void show_progress(const char *what, double done, double all) {
    static double shown_at;
    double time = now();
    if (time - shown_at >= progress_interval) {
        if (shown_at > 0) fprintf(stderr, "    %s: %.0f of %.0f\n", what, done, all);
        shown_at = time;
    }
    if (time - answered_at > answer_timeout) {
        fprintf(stderr, "fleet: no answer for %.0f s; %s: %.0f of %.0f\n", answer_timeout, what, done, all);
        exit(1);
    }
}

static void open_connections(void) {
    for (int index = 0; index < CONNECTIONS; index++) {
        char client_id[16];
        snprintf(client_id, sizeof client_id, "fleet-%d", index);
        open_connection(&connections[index], options.port, client_id);
    }
    subscribe(&connections[0], "pacebus/v1/u/+/replies/fleet");
    subscribe(&connections[1], "pacebus/v1/+/+/+/samples/watch-bench/ack");
    subscribe(&connections[2], "pacebus/v1/+/+/+/locations/watch-bench/ack");
    for (int index = 0; index < 3; index++) settle(&connections[index], handle);
}

static void start_sessions(void) {
    sessions = calloc((size_t)options.sessions, sizeof *sessions);
    marks = calloc((size_t)options.sessions, sizeof *marks);
    if (sessions == NULL || marks == NULL) exit(1);
    int64_t origin = (int64_t)(now() * 1000) - options.history * 1000;
    for (int number = 0; number < options.sessions; number++) {
        struct session *session = &sessions[number];
        *session = (struct session){.senders = {new_sender(), new_sender()}, .origin = origin};
    }
    int sent = 0, oldest = 0;
    answered_at = now();
    while (started < options.sessions) {
        double time = now();
        while (sent < options.sessions && sent - started < STARTS_IN_FLIGHT) send_start(sent++, time);
        while (oldest < sent && isinf(sessions[oldest].started_at)) oldest++;
        for (int number = oldest; number < sent; number++) {
            if (sessions[number].started_at + command_timeout < time) send_start(number, time);
        }
        turn();
        show_progress("sessions started", started, options.sessions);
    }
}

/// Sends what the devices recorded before: a few streams at one time, each as fast as it is acknowledged.
static void send_history(void) {
    int slots[SENDERS_OF_HISTORY], count = 0, begun = 0, streams = 2 * options.sessions;
    double all = (double)streams * (double)options.history;
    while (count > 0 || begun < streams) {
        while (count < SENDERS_OF_HISTORY && begun < streams) {
            sessions[begun / 2].senders[begun % 2].count = options.history;
            slots[count++] = begun++;
        }
        for (int index = 0; index < count;) {
            int number = slots[index] / 2, kind = slots[index] % 2;
            send_batches(number, kind, now());
            if (sessions[number].senders[kind].acknowledged == options.history) {
                slots[index] = slots[--count];
            } else {
                index++;
            }
        }
        turn();
        show_progress("items of the past acknowledged", (double)(acknowledged[SAMPLES] + acknowledged[LOCATIONS]), all);
    }
}

/// Gives every session in turn the items that are due.
static void raise_due(double begin) {
    static int64_t given;
    double each = 1.0 / options.sessions, time = now();
    for (; begin + (double)given * each <= time; given++) {
        int number = (int)(given % options.sessions);
        double due = begin + (double)given * each;
        struct session *session = &sessions[number];
        if (given < options.sessions) session->origin = (int64_t)(due * 1000) - options.history * 1000;
        for (enum kind kind = SAMPLES; kind <= LOCATIONS; kind++) {
            session->senders[kind].count++;
            send_batches(number, kind, due);
        }
    }
}

static void begin_restart(void) {
    restarted_kind = signal_number == SIGUSR1 ? SAMPLES : LOCATIONS;
    signal_number = 0;
    to_return.count = 0;
    for (int number = 0; number < options.sessions; number++) {
        marks[number] = next_item(&sessions[number].senders[restarted_kind]);
    }
    restarted_at = now();
}

static void live_turn(double begin) {
    if (signal_number != 0) begin_restart();
    raise_due(begin);
    turn();
    look_for_stalls(now());
    show_progress(
        "items acknowledged", (double)(acknowledged[SAMPLES] + acknowledged[LOCATIONS]),
        2.0 * options.sessions * ((double)options.history + now() - begin));
}

// MARK: The measurement

static void measure_processes(void) {
    for (int index = 0; index < process_count; index++) {
        struct process *process = &processes[index];
        process->cpu = cpu_seconds(process->pid) - process->cpu;
        process->written = written_bytes(process->pid) - process->written;
    }
}

static int64_t unacknowledged(void) {
    int64_t items = 0;
    for (int number = 0; number < options.sessions; number++) {
        for (enum kind kind = SAMPLES; kind <= LOCATIONS; kind++) {
            items += sessions[number].senders[kind].count - sessions[number].senders[kind].acknowledged;
        }
    }
    return items;
}

/// Waits for acknowledgements without new items. Those still pending have at least this delay.
static void await_asked(double until) {
    while (now() < until) {
        turn();
        look_for_stalls(now());
    }
    for (int number = 0; number < options.sessions; number++) {
        for (enum kind kind = SAMPLES; kind <= LOCATIONS; kind++) {
            double asked_at = sessions[number].senders[kind].asked_at;
            if (asked_at > 0 && asked_at < measured_until) add_duration(&to_ack, now() - asked_at);
        }
    }
    measured_from = INFINITY;
}

static void measure(double begin) {
    while (now() < begin + options.warm_up) live_turn(begin);
    measured_from = now();
    int64_t before[2] = {acknowledged[SAMPLES], acknowledged[LOCATIONS]}, repeated_before = repeated;
    measure_processes();
    while (now() < measured_from + options.seconds) live_turn(begin);
    measured_until = now();
    measure_processes();
    double seconds = measured_until - measured_from;
    printf(
        "samples=%.1f locations=%.1f ", (double)(acknowledged[SAMPLES] - before[SAMPLES]) / seconds,
        (double)(acknowledged[LOCATIONS] - before[LOCATIONS]) / seconds);
    printf("repeated=%lld ", (long long)(repeated - repeated_before));
    for (int index = 0; index < process_count; index++) {
        struct process *process = &processes[index];
        printf(
            "cpu_%s=%.4f written_%s=%.0f memory_%s=%ld ", process->name, process->cpu / seconds, process->name,
            (double)process->written / seconds, process->name, resident_kilobytes(process->pid) * 1024);
    }
    await_asked(measured_until + ask_limit);
    double end = now() + drain_limit;
    while (unacknowledged() > 0 && now() < end) {
        turn();
        look_for_stalls(now());
    }
    printf("asked=%zu ack_p50=%.4f ack_p99=%.4f ", to_ack.count, quantile(&to_ack, 0.5), quantile(&to_ack, 0.99));
    printf("lost=%lld\n", (long long)unacknowledged());
}

enum { PORT = 1, SESSIONS, WARM_UP, SECONDS, HISTORY, PUBLISHED, PROCESS, RESTARTS, HELP };

static void read_process(char *text) {
    char *equals = strchr(text, '=');
    if (equals == NULL || process_count == PROCESSES) {
        fputs(help, stderr);
        exit(1);
    }
    *equals = 0;
    processes[process_count++] = (struct process){.name = text, .pid = atoi(equals + 1)};
}

static void read_options(int argc, char **argv) {
    static const struct option known[] = {
        {"port", 1, 0, PORT}, {"sessions", 1, 0, SESSIONS}, {"warm-up", 1, 0, WARM_UP}, {"seconds", 1, 0, SECONDS},
        {"history", 1, 0, HISTORY}, {"published", 1, 0, PUBLISHED}, {"process", 1, 0, PROCESS},
        {"restarts", 0, 0, RESTARTS}, {"help", 0, 0, HELP}, {0, 0, 0, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case PORT: options.port = atoi(optarg); break;
        case SESSIONS: options.sessions = atoi(optarg); break;
        case WARM_UP: options.warm_up = atof(optarg); break;
        case SECONDS: options.seconds = atof(optarg); break;
        case HISTORY: options.history = atoll(optarg); break;
        case PUBLISHED: options.published = fopen(optarg, "w"); break;
        case PROCESS: read_process(optarg); break;
        case RESTARTS: options.is_restarting = true; break;
        case HELP: fputs(help, stdout); exit(0);
        default: fputs(help, stderr); exit(1);
        }
    }
    if (options.port <= 0 || options.sessions <= 0 || options.sessions > 999999 || optind < argc) {
        fputs(help, stderr);
        exit(1);
    }
}

int main(int argc, char **argv) {
    processes[process_count++] = (struct process){.name = "fleet", .pid = getpid()};
    read_options(argc, argv);
    struct sigaction action = {.sa_handler = note_signal};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    open_connections();
    double time = now();
    start_sessions();
    printf("starts=%.0f ", options.sessions / (now() - time));
    if (options.history > 0) {
        time = now();
        send_history();
        printf("history=%.0f ", 2.0 * options.sessions * (double)options.history / (now() - time));
    }
    printf("live=1 ");
    fflush(stdout);
    double begin = now();
    while (options.is_restarting) live_turn(begin);
    measure(begin);
}
