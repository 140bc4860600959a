// Plays virtual runs: everybody accepts, confirms and begins, then each runner's metrics change every two seconds, evenly
// spread. Without runs it publishes metrics of sessions that are in none.
//
// runs PORT RUNS SIZE FOREIGN WARM-UP SECONDS PID AHEAD: prints `key=value`: messages of partners a second, the CPU that the
// process PID, virtual-run, used for each (for each of FOREIGN metrics a second without runs) and for each message in or out,
// quantiles of the time from a runner's metrics to the partners that hold them, and memory in bytes for each runner.
//
// Before it measures, it sends what the runners' metrics would be in AHEAD seconds, one for every five seconds, as fast as
// virtual-run reads them. With runs it then waits for the end of PID, and prints the seconds from there until all runners
// have a view, and partners, of the next process.

#include "measure.h"
#include "mqtt.h"
#include "stream.h"
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double interval = 2;
static const char user_prefix[] = "pacebus/v1/u/bench-";
enum { NUMBER_AT = sizeof user_prefix - 1, TOPIC_AT = NUMBER_AT + 6 + sizeof "/runs/" - 1, ID = 36 };

struct runner {
    /// Drawn by the service.
    char session[ID + 1];
    /// The step of the way into the run that the view shows.
    enum step { NONE, INVITED, CONFIRMING, CONFIRMED, RUNNING } step;
    /// The time of the newest metrics of each partner that were received.
    double *seen;
    /// Whether the next process sent them.
    bool has_view, has_partners;
};

static struct connection connection;
static struct runner *runners;
static int count, size;
static long partners, requests;
static bool is_measuring;
/// Seconds by which the runners' clocks are ahead.
static double ahead;
/// Runners without a view and without partners of the next process.
static int without_view, without_partners;
static struct durations latencies;
static char text[8192];

static void say(const char *topic, int qos, bool retain) {
    struct message message = {
        .topic = topic, .topic_length = strlen(topic), .payload = text, .payload_length = strlen(text)};
    publish(&connection, message, qos, retain);
}

static void request(int number, const char *type, const char *rest) {
    char topic[64];
    snprintf(topic, sizeof topic, "%s%06d/run-request", user_prefix, number);
    snprintf(
        text, sizeof text,
        "{\"id\":\"00000000-0000-4000-9000-%012lx\",\"run\":\"00000000-0000-4000-a000-%012x\",\"type\":\"%s\"%s}",
        ++requests, number / size, type, rest);
    say(topic, 1, false);
}

static bool holds(struct message message, const char *what) {
    return memmem(message.payload, message.payload_length, what, strlen(what)) != NULL;
}

static void see_view(struct runner *runner, struct message message) {
    if (!runner->has_view) without_view--;
    runner->has_view = true;
    static const char key[] = "\"session\":\"";
    const char *session = memmem(message.payload, message.payload_length, key, sizeof key - 1);
    if (session) memcpy(runner->session, session + sizeof key - 1, ID);
    enum step step = INVITED;
    if (holds(message, "\"startsAt\"")) step = CONFIRMED;
    else if (holds(message, "\"confirmBy\"")) step = CONFIRMING;
    if (runner->step < step) runner->step = step;
}

// Rows have their keys in sorted order: the time before the user.
static void see_partners(struct runner *runner, struct message message) {
    if (is_measuring) partners++;
    if (!runner->has_partners) without_partners--;
    runner->has_partners = true;
    char *at = memmem(message.payload, message.payload_length, "\"x\":[", 5);
    const char *end = message.payload + message.payload_length;
    double time = now();
    while (at && (at = memmem(at, (size_t)(end - at), "\"c\":", 4))) {
        double item = atof(at + 4) - ahead;
        char *user = memmem(at, (size_t)(end - at), "\"u\":\"bench-", 11);
        if (!user) return;
        double *seen = &runner->seen[atoi(user + 11) % size];
        if (*seen != item && is_measuring) add_duration(&latencies, time - item);
        *seen = item;
        at = user;
    }
}

static void handle(struct message message) {
    if (message.topic_length < TOPIC_AT + ID || memcmp(message.topic, user_prefix, NUMBER_AT) != 0) return;
    int number = atoi(message.topic + NUMBER_AT);
    if (number >= count || message.payload_length == 0) return;
    if (message.topic_length == TOPIC_AT + ID) see_view(&runners[number], message);
    else see_partners(&runners[number], message);
}

static void turn(int milliseconds) {
    flush(&connection);
    struct pollfd wait = {.fd = connection.socket, .events = POLLIN | (unwritten(&connection) > 0 ? POLLOUT : 0)};
    poll(&wait, 1, milliseconds);
    receive(&connection, handle);
}

/// Waits until the views of all runners show a step.
static void wait_for(enum step step) {
    double deadline = now() + 60;
    for (int number = 0; number < count;) {
        if (runners[number].step >= step) number++;
        else turn(5);
        if (now() > deadline) {
            fprintf(stderr, "runner %d does not reach step %d\n", number, step);
            exit(1);
        }
    }
}

/// Brings all runners into their runs. A view must follow each request: the service keeps up.
static void begin(void) {
    static char invited[4096];
    for (int host = 0; host < count; host += size) {
        size_t length = (size_t)snprintf(invited, sizeof invited, ",\"countdown\":3,\"invite\":[");
        for (int number = host + 1; number < host + size; number++)
            length += (size_t)snprintf(
                invited + length, sizeof invited - length, "%s\"bench-%06d\"", number == host + 1 ? "" : ",", number);
        snprintf(invited + length, sizeof invited - length, "]");
        request(host, "create", invited);
        settle(&connection, handle);
    }
    wait_for(INVITED);
    for (int number = 0; number < count; number++)
        if (number % size) request(number, "accept", "");
    settle(&connection, handle);
    for (double until = now() + 4; now() < until;) turn(5);
    if (size > 2)
        for (int host = 0; host < count; host += size) request(host, "begin", "");
    wait_for(CONFIRMING);
    for (int number = 0; number < count; number++) request(number, "confirm", "");
    wait_for(CONFIRMED);
    for (int number = 0; number < count; number++) {
        char topic[128];
        const char *session = runners[number].session;
        snprintf(topic, sizeof topic, "pacebus/v1/%s/bench-%06d/%s/state", session + ID - 2, number, session);
        size_t length = write_state(text, sizeof text, number, now());
        // The end of the state without its brace, and the session of the view for that of the number.
        snprintf(
            text + length - 1, sizeof text - length + 1, ",\"run\":\"00000000-0000-4000-a000-%012x\"}", number / size);
        memcpy(strstr(text, "\"session\":\"") + 11, session, ID);
        say(topic, 1, true);
    }
    settle(&connection, handle);
    // The countdown, and the ten seconds after a connect in which no deadline passes.
    for (double until = now() + 12; now() < until;) turn(5);
}

static void measure(int number, double start, double time, bool is_foreign) {
    char topic[128], run[64] = "";
    double seconds = time - start;
    if (is_foreign) {
        topic[write_topic(topic, sizeof topic, number, "metrics")] = 0;
    } else {
        const char *session = runners[number].session;
        snprintf(topic, sizeof topic, "pacebus/v1/%s/bench-%06d/%s/metrics", session + ID - 2, number, session);
        snprintf(run, sizeof run, "\"r\":\"00000000-0000-4000-a000-%012x\",", number / size);
    }
    snprintf(
        text, sizeof text,
        "{\"c\":%.3f,\"d\":%.1f,\"h\":%d,\"ha\":140.5,\"hx\":171,\"k\":%.1f,\"lp\":1,\"n\":%.0f,\"p\":312.5,\"pa\":false,%s"
        "\"s\":%.0f,\"t\":%.3f,\"u\":\"bench-%06d\",\"v\":3.2}",
        time, seconds * (3.2 + number % 7 * 0.01), 130 + (int)(seconds / 2) % 30, seconds / 5, seconds, run,
        time * 1000, seconds, number);
    say(topic, 0, true);
}

/// The runners of one run follow each other after the whole interval's share. Each round begins with another runner, so
/// that a runner's snapshots come at any phase, 0 to 4 s apart.
static int spread(long sent) {
    unsigned long shift = (unsigned long)(sent / count) * 2654435761u >> 8;
    int place = (int)(((unsigned long)sent + shift) % (unsigned long)count), runs = count / size;
    return place % runs * size + place / runs;
}

/// Sends metrics for every five seconds until the runners are ahead.
static void advance(double until, double start) {
    double begun = now();
    long sent = 0;
    for (ahead = 5; ahead < until; ahead += 5)
        for (int number = 0; number < count; number++) {
            measure(number, start, begun + ahead, false);
            // The broker drops what virtual-run does not read in time.
            while (++sent > (now() - begun) * 15000) turn(1);
        }
    ahead = until;
    // Snapshots that come faster than partners go out leave these behind.
    for (double end = now() + 5; until > 0 && now() < end;) turn(5);
}

/// Prints the seconds from the end of a process until the next one has sent everything.
static void measure_restart(int pid, double start, long *sent, double began) {
    while (resident_kilobytes(pid) > 0) {
        for (; *sent < (now() - began) * count / interval; ++*sent) measure(spread(*sent), start, now() + ahead, false);
        turn(2);
    }
    double end = now(), views = 0, partners = 0;
    without_view = without_partners = count;
    for (int number = 0; number < count; number++) runners[number].has_view = runners[number].has_partners = false;
    while ((without_view > 0 || without_partners > 0) && now() - end < 60) {
        for (; *sent < (now() - began) * count / interval; ++*sent) measure(spread(*sent), start, now() + ahead, false);
        turn(2);
        if (without_view == 0 && views == 0) views = now() - end;
        if (without_partners == 0 && partners == 0) partners = now() - end;
    }
    printf(
        " restart_views=%.2f restart_partners=%.2f", without_view > 0 ? INFINITY : views,
        without_partners > 0 ? INFINITY : partners);
}

int main(int argc, char **argv) {
    if (argc != 9) {
        fputs("usage: runs PORT RUNS SIZE FOREIGN WARM-UP SECONDS PID AHEAD\n", stderr);
        return 1;
    }
    int foreign = atoi(argv[4]), pid = atoi(argv[7]);
    double warm_up = atof(argv[5]), seconds = atof(argv[6]);
    size = atoi(argv[3]);
    count = atoi(argv[2]) * size;
    runners = calloc((size_t)count + 1, sizeof *runners);
    for (int number = 0; number < count; number++) runners[number].seen = calloc((size_t)size, sizeof(double));
    open_connection(&connection, atoi(argv[1]), "runs");
    subscribe(&connection, "pacebus/v1/u/+/runs/+");
    subscribe(&connection, "pacebus/v1/u/+/runs/+/partners");
    settle(&connection, handle);
    // Links of runners age only while an aggregator is online.
    snprintf(
        text, sizeof text, "{\"status\":\"online\",\"shards\":\"00-ff\",\"startedAt\":%.3f,\"version\":\"bench\"}",
        now());
    say("pacebus/v1/services/_metrics-aggregator/bench", 1, true);
    long memory = anonymous_kilobytes(pid);
    if (count > 0) begin();
    double start = now() - 60;
    if (count > 0) advance(atof(argv[8]), start);
    double began = now(), cpu = 0, measured = 0;
    double rate = count > 0 ? count / interval : foreign;
    long sent = 0, measured_from = 0;
    for (double time = began; time - began < warm_up + seconds; time = now()) {
        if (measured == 0 && time - began >= warm_up) {
            measured = time;
            measured_from = sent;
            cpu = cpu_seconds(pid);
            is_measuring = true;
            printf("measured_from=%.3f ", time);
            fflush(stdout);
        }
        for (; sent < (time - began) * rate; sent++)
            measure(count > 0 ? spread(sent) : (int)(sent % 10000), start, now() + ahead, count == 0);
        turn(2);
    }
    double elapsed = now() - measured, microseconds = (cpu_seconds(pid) - cpu) * 1e6;
    long handled = sent - measured_from, messages = count > 0 ? partners : handled;
    printf(
        "messages_per_second=%.0f cpu_us=%.2f handled_us=%.2f latency_p50=%.4f latency_p99=%.4f runner_bytes=%.0f",
        (double)messages / elapsed, microseconds / (double)messages, microseconds / (double)(partners + handled),
        quantile(&latencies, 0.5), quantile(&latencies, 0.99),
        count > 0 ? (double)(anonymous_kilobytes(pid) - memory) * 1024 / count : 0);
    fflush(stdout);
    if (count > 0) measure_restart(pid, start, &sent, began);
    puts(" lost=0");
    return 0;
}
