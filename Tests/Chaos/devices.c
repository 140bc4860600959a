// Plays devices of running sessions while services are killed. `devices --help` lists the options.

#include "../Benchmarks/measure.h"
#include "../Benchmarks/mqtt.h"
#include "../Benchmarks/sender.h"
#include "../Benchmarks/stream.h"
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: devices --port PORT --sessions N --origin MS --user NAME --password-file FILE [option ...]\n"
    "\n"
    "Starts N sessions, one user each, through session-engine. Each sends five samples and five locations a second, one item\n"
    "a message, with the reference client's rules for rewinds and stalls; each batch asks for an acknowledgement. All\n"
    "sessions have the same items: item 0 is of the time MS, each other item a second later. The sessions are spread over\n"
    "all shards. After SIGUSR1 there are no new items; when all are acknowledged, prints `items=` of each stream and ends.\n"
    "\n"
    "  --first N   the number of the first session (0)\n"
    "  --items N   sends N items of each stream at once, and ends when they are acknowledged\n"
    "  --acks F    receives a line for each acknowledgement that advances: time, session, 0 for samples or 1 for\n"
    "              locations, next item\n";

enum { CONNECTIONS = 2, RATE = 5 };
/// Seconds: between looks for stalls; until a command is repeated; for all acknowledgements at the end.
static const double look_interval = 0.2, command_timeout = 5, drain_limit = 120;

static struct {
    int port, sessions, first;
    int64_t origin, items;
    FILE *acks;
} options;

struct session {
    struct sender senders[2];
    /// When the start was last sent; infinite once the engine has accepted it.
    double started_at;
};

static struct connection connections[CONNECTIONS];
static struct session *sessions;
static int started;
static int64_t repeated;
static volatile sig_atomic_t is_ending;

static void fail(const char *what, struct message message) {
    fprintf(
        stderr, "devices: %s: %.*s %.*s\n", what, (int)message.topic_length, message.topic, (int)message.payload_length,
        message.payload);
    exit(1);
}

static void note_signal(int number) {
    (void)number;
    is_ending = true;
}

/// The sessions of a run are as far apart as 256 shards allow.
static int spread(void) { return options.sessions < 256 ? 256 / options.sessions : 1; }

static int number_of(int index) { return options.first + index * spread(); }

/// The session of a number; -1 for another's.
static int index_of(int number) {
    int index = (number - options.first) / spread();
    return number >= options.first && index < options.sessions && number_of(index) == number ? index : -1;
}

// MARK: Sending

static void send_batches(int index, enum kind kind) {
    static char *payload;
    if (payload == NULL) payload = malloc(batch_size(SENDER_BATCH));
    struct batch batches[SENDER_TURN];
    char topic[128];
    struct message message = {.topic = topic, .payload = payload};
    int count = take_batches(&sessions[index].senders[kind], now(), batches);
    if (count == 0) return;
    message.topic_length = write_topic(
        topic, sizeof topic, number_of(index), kind == LOCATIONS ? "locations/watch-bench" : "samples/watch-bench");
    for (int batch = 0; batch < count; batch++) {
        repeated += batches[batch].is_repeated;
        message.payload_length =
            write_batch(payload, kind, batches[batch].first, batches[batch].count, options.origin, true);
        publish(&connections[index % CONNECTIONS], message, 0, false);
    }
}

static void send_start(int index, double time) {
    char topic[128], payload[512];
    struct message message = {.topic = topic, .payload = payload};
    message.topic_length = write_topic(topic, sizeof topic, number_of(index), "command");
    message.payload_length = (size_t)snprintf(
        payload, sizeof payload,
        "{\"id\":\"00000000-0000-4000-9000-%012x\",\"client\":\"devices\",\"type\":\"start\",\"activity\":\"running\","
        "\"environment\":\"outdoor\",\"countdown\":0,\"timeZone\":\"Europe/Berlin\",\"at\":%.3f}",
        number_of(index), (double)options.origin / 1000);
    publish(&connections[index % CONNECTIONS], message, 1, false);
    sessions[index].started_at = time;
}

// MARK: Receiving

static bool has(struct message message, const char *text) {
    return memmem(message.payload, message.payload_length, text, strlen(text)) != NULL;
}

static void handle_reply(struct message message) {
    const char *found = memmem(message.topic, message.topic_length, "/bench-", 7);
    int index = found == NULL ? -1 : index_of(atoi(found + 7));
    if (index < 0) return;
    if (!has(message, "\"ok\":true")) fail("a start is refused", message);
    if (isinf(sessions[index].started_at)) return;
    sessions[index].started_at = INFINITY;
    started++;
}

static void handle(struct message message) {
    const char *rest;
    int number = read_topic(message.topic, message.topic_length, &rest);
    if (number < 0) return handle_reply(message);
    int index = index_of(number);
    if (index < 0) return;
    const char *next = memmem(message.payload, message.payload_length, "\"n\":", 4);
    if (next == NULL || has(message, "\"error\":")) fail("unexpected answer", message);
    enum kind kind = *rest == 'l' ? LOCATIONS : SAMPLES;
    struct sender *sender = &sessions[index].senders[kind];
    int64_t items = strtoll(next + 4, NULL, 10);
    // More than the stream has would be another stream's.
    if (items > sender->count) fail("unexpected answer", message);
    double time = now();
    if (take_ack(sender, items, time) && options.acks != NULL) {
        fprintf(options.acks, "%.4f %d %d %lld\n", time, number, kind, (long long)items);
    }
    send_batches(index, kind);
}

// MARK: Phases

static void turn(void) {
    struct pollfd waits[CONNECTIONS];
    for (int index = 0; index < CONNECTIONS; index++) {
        flush(&connections[index]);
        short events = POLLIN | (unwritten(&connections[index]) > 0 ? POLLOUT : 0);
        waits[index] = (struct pollfd){.fd = connections[index].socket, .events = events};
    }
    poll(waits, CONNECTIONS, 5);
    for (int index = 0; index < CONNECTIONS; index++) receive(&connections[index], handle);
}

static void look_for_stalls(void) {
    static double looked_at;
    double time = now();
    if (time - looked_at < look_interval) return;
    looked_at = time;
    for (int index = 0; index < options.sessions; index++) {
        for (enum kind kind = SAMPLES; kind <= LOCATIONS; kind++) send_batches(index, kind);
    }
}

static void open_connections(void) {
    for (int index = 0; index < CONNECTIONS; index++) {
        char client_id[40];
        snprintf(client_id, sizeof client_id, "devices-%d-%d", (int)getpid(), index);
        open_connection(&connections[index], options.port, client_id);
    }
    subscribe(&connections[0], "pacebus/v1/u/+/replies/devices");
    subscribe(&connections[0], "pacebus/v1/+/+/+/samples/+/ack");
    subscribe(&connections[1], "pacebus/v1/+/+/+/locations/+/ack");
    for (int index = 0; index < CONNECTIONS; index++) settle(&connections[index], handle);
}

static void start_sessions(void) {
    sessions = calloc((size_t)options.sessions, sizeof *sessions);
    if (sessions == NULL) exit(1);
    for (int index = 0; index < options.sessions; index++) {
        sessions[index] = (struct session){.senders = {new_sender(), new_sender()}};
        send_start(index, now());
    }
    while (started < options.sessions) {
        turn();
        for (int index = 0; index < options.sessions; index++) {
            if (sessions[index].started_at + command_timeout < now()) send_start(index, now());
        }
    }
}

static void add_item(int index) {
    for (enum kind kind = SAMPLES; kind <= LOCATIONS; kind++) {
        sessions[index].senders[kind].count++;
        send_batches(index, kind);
    }
}

/// Gives every session in turn the items that are due, until the end and then until all have the same number.
static void send_live(void) {
    double begin = now(), each = 1.0 / (RATE * options.sessions);
    int64_t given = 0;
    while (!is_ending || given % options.sessions != 0) {
        while (begin + (double)given * each <= now()) {
            add_item((int)(given++ % options.sessions));
            if (is_ending && given % options.sessions == 0) break;
        }
        turn();
        look_for_stalls();
    }
}

static int64_t unacknowledged(void) {
    int64_t items = 0;
    for (int index = 0; index < options.sessions; index++) {
        for (enum kind kind = SAMPLES; kind <= LOCATIONS; kind++) {
            items += sessions[index].senders[kind].count - sessions[index].senders[kind].acknowledged;
        }
    }
    return items;
}

enum { PORT = 1, SESSIONS, ORIGIN, USER, PASSWORD_FILE, FIRST, ITEMS, ACKS, HELP };

static const char *read_password(const char *path) {
    static char password[256];
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(password, sizeof password, file) == NULL) {
        perror(path);
        exit(1);
    }
    fclose(file);
    password[strcspn(password, "\n")] = 0;
    return password;
}

static void read_options(int argc, char **argv) {
    static const struct option known[] = {
        {"port", 1, 0, PORT}, {"sessions", 1, 0, SESSIONS}, {"origin", 1, 0, ORIGIN}, {"user", 1, 0, USER},
        {"password-file", 1, 0, PASSWORD_FILE}, {"first", 1, 0, FIRST}, {"items", 1, 0, ITEMS}, {"acks", 1, 0, ACKS},
        {"help", 0, 0, HELP}, {0, 0, 0, 0}};
    const char *user = NULL, *password = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case PORT: options.port = atoi(optarg); break;
        case SESSIONS: options.sessions = atoi(optarg); break;
        case ORIGIN: options.origin = atoll(optarg); break;
        case USER: user = optarg; break;
        case PASSWORD_FILE: password = read_password(optarg); break;
        case FIRST: options.first = atoi(optarg); break;
        case ITEMS: options.items = atoll(optarg); break;
        case ACKS: options.acks = fopen(optarg, "w"); break;
        case HELP: fputs(help, stdout); exit(0);
        default: fputs(help, stderr); exit(1);
        }
    }
    if (options.port <= 0 || options.sessions <= 0 || options.origin <= 0 || !user || !password || optind < argc) {
        fputs(help, stderr);
        exit(1);
    }
    log_in_as(user, password);
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    struct sigaction action = {.sa_handler = note_signal};
    sigaction(SIGUSR1, &action, NULL);
    open_connections();
    start_sessions();
    printf("started=%d\n", started);
    fflush(stdout);
    if (options.items == 0) send_live();
    for (int index = 0; index < options.sessions && options.items > 0; index++) {
        for (enum kind kind = SAMPLES; kind <= LOCATIONS; kind++) {
            sessions[index].senders[kind].count = options.items;
            send_batches(index, kind);
        }
    }
    for (double end = now() + drain_limit; unacknowledged() > 0 && now() < end; look_for_stalls()) turn();
    if (options.acks != NULL) fclose(options.acks);
    printf(
        "items=%lld repeated=%lld lost=%lld\n", (long long)sessions[0].senders[SAMPLES].count, (long long)repeated,
        (long long)unacknowledged());
}
