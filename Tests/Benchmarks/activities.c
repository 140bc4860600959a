// Plays running sessions with Live Activities: states, one registered phone for each, and new metrics every two seconds,
// evenly spread.
//
// activities PORT SESSIONS WARM-UP SECONDS PID: prints `key=value`: the CPU that the process PID, live-activity-publisher,
// used during SECONDS, as a fraction of one core, and its memory in bytes for each session.

#include "measure.h"
#include "mqtt.h"
#include "stream.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double interval = 2;
static struct connection connection;
static char text[1024];
static int sessions;

static void handle(struct message message) { (void)message; }

static void say(int number, const char *rest, size_t length, int qos, bool retain) {
    char topic[128];
    struct message message = {.topic = topic, .payload = text, .payload_length = length};
    message.topic_length = write_topic(topic, sizeof topic, number, rest);
    publish(&connection, message, qos, retain);
}

static void begin(int number, double start) {
    say(number, "state", write_state(text, sizeof text, number, start), 1, true);
    size_t length = (size_t)snprintf(
        text, sizeof text,
        "{\"client\":\"phone-bench\",\"device\":\"phone-bench\",\"enabled\":true,\"environment\":\"sandbox\","
        "\"id\":\"00000000-0000-4000-8000-%012x\",\"kind\":\"activity\",\"token\":\"%064x\"}",
        number, number + 1);
    say(number, "activity/register", length, 1, false);
}

static void measure(int number, double start, double time) {
    double seconds = time - start;
    size_t length = (size_t)snprintf(
        text, sizeof text,
        "{\"c\":%.3f,\"d\":%.1f,\"h\":%d,\"ha\":140.5,\"hx\":171,\"k\":%.1f,\"lp\":1,\"n\":%.0f,\"p\":312.5,\"pa\":false,"
        "\"s\":%.0f,\"t\":%.3f,\"u\":\"bench-%06d\",\"v\":3.2}",
        time, seconds * 3.2, 130 + (int)(seconds / 2) % 30, seconds / 5, seconds, time * 1000, seconds, number);
    say(number, "metrics", length, 0, true);
}

static void turn(int milliseconds) {
    flush(&connection);
    struct pollfd wait = {.fd = connection.socket, .events = POLLIN | (unwritten(&connection) > 0 ? POLLOUT : 0)};
    poll(&wait, 1, milliseconds);
    receive(&connection, handle);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fputs("usage: activities PORT SESSIONS WARM-UP SECONDS PID\n", stderr);
        return 1;
    }
    sessions = atoi(argv[2]);
    double warm_up = atof(argv[3]), seconds = atof(argv[4]);
    int pid = atoi(argv[5]);
    open_connection(&connection, atoi(argv[1]), "activities");
    long memory = resident_kilobytes(pid);
    double start = now();
    for (int number = 0; number < sessions; number++) {
        begin(number, start);
        if (number % 200 == 199) settle(&connection, handle);
    }
    settle(&connection, handle);
    double began = now(), cpu = 0, measured = 0;
    long sent = 0;
    for (double time = began; time - began < warm_up + seconds; time = now()) {
        if (measured == 0 && time - began >= warm_up) {
            measured = time;
            cpu = cpu_seconds(pid);
            printf("measured_from=%.3f ", time);
        }
        for (; sent < (time - began) / interval * sessions; sent++) measure((int)(sent % sessions), start, time);
        turn(2);
    }
    printf(
        "measured_until=%.3f cpu=%.3f session_bytes=%.0f lost=0\n", now(),
        (cpu_seconds(pid) - cpu) / (now() - measured), (double)(resident_kilobytes(pid) - memory) * 1024 / sessions);
    return 0;
}
