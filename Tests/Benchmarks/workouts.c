// Plays the owners of finished workouts: publishes chunks, summaries and records, and waits until the exporter has written
// each workout to its folder.
//
// workouts PORT SESSIONS ITEMS IN-FLIGHT PID: SESSIONS workouts of ITEMS seconds, a sample and a location each second,
// IN-FLIGHT at a time; PID is the exporter. Prints `key=value`: the seconds from the first record to the last file, the same
// for the slowest of each hundred, and the exporter's CPU milliseconds for each workout.

#include "measure.h"
#include "mqtt.h"
#include "stream.h"
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_ROWS = 512, TEXT_SIZE = 256 << 10 };
static const double start = 1600000000, timeout = 600;

static struct connection connection;
static char text[TEXT_SIZE];
static int sessions, items, done;
static double *published_at;
static struct durations to_done;

static void handle(struct message message) {
    const char *rest;
    int number = read_topic(message.topic, message.topic_length, &rest);
    if (number < 0 || number >= sessions || published_at[number] == 0) return;
    if (memmem(message.payload, message.payload_length, "\"status\":\"done\"", 15) == NULL) return;
    add_duration(&to_done, now() - published_at[number]);
    published_at[number] = 0;
    done++;
}

static void say(int number, const char *rest, size_t length) {
    char topic[128];
    struct message message = {.topic = topic, .payload = text, .payload_length = length};
    message.topic_length = write_topic(topic, sizeof topic, number, rest);
    publish(&connection, message, 1, true);
}

/// The values of a column: `first` + `step` × row, and a hill on top.
static size_t write_column(char *at, const char *key, int from, int to, double first, double step, double hill) {
    size_t length = (size_t)sprintf(at, "\"%s\":[", key);
    for (int row = from; row < to; row++)
        length += (size_t)sprintf(at + length, "%.7g,", first + step * row + hill * sin(row / 300.0));
    at[length - 1] = ']';
    return length;
}

static size_t write_chunk(bool is_track, int chunk, int chunks) {
    int from = chunk * CHUNK_ROWS, to = from + CHUNK_ROWS < items ? from + CHUNK_ROWS : items;
    size_t length = (size_t)sprintf(text, "{\"columns\":{\"c\":[");
    for (int row = from; row < to; row++) length += (size_t)sprintf(text + length, "%.0f,", start + row);
    text[length - 1] = ']';
    static const struct {
        const char *key;
        double first, step, hill;
    } columns[2][5] = {
        {{"cd", 168, 0, 6}, {"d", 3.2, 0, 0.4}, {"h", 140, 0, 20}, {"k", 0.2, 0, 0}, {"v", 3.2, 0, 0.4}},
        {{"ac", 5, 0, 2}, {"al", 120, 0, 40}, {"d", 0, 3.2, 0}, {"la", 52, 1e-5, 1e-3}, {"lo", 13, 1e-5, 1e-3}}};
    for (int column = 0; column < 5; column++) {
        text[length++] = ',';
        length += write_column(
            text + length, columns[is_track][column].key, from, to, columns[is_track][column].first,
            columns[is_track][column].step, columns[is_track][column].hill);
    }
    return length + (size_t)sprintf(text + length, "},\"n\":%d,\"of\":%d,\"revision\":2}", chunk, chunks);
}

static void publish_rows(int number) {
    int chunks = (items + CHUNK_ROWS - 1) / CHUNK_ROWS;
    for (int kind = 0; kind < 2; kind++) {
        for (int chunk = 0; chunk < chunks; chunk++) {
            char rest[32];
            snprintf(rest, sizeof rest, "%s/%d", kind == 1 ? "track" : "series", chunk);
            say(number, rest, write_chunk(kind == 1, chunk, chunks));
        }
        size_t length = (size_t)sprintf(
            text, "{\"chunks\":%d,\"laps\":[],\"next\":{},\"revision\":2,\"splits\":[],\"state\":1}", chunks);
        say(number, kind == 1 ? "summary/route" : "summary/metrics", length);
    }
}

static void publish_workout(int number) {
    char topic[128];
    write_topic(topic, sizeof topic, number, "");
    char *session = strstr(topic, "/bench-") + strlen("/bench-000000/");
    session[36] = 0;
    size_t length = (size_t)sprintf(
        text,
        "{\"activeDuration\":%d,\"activity\":\"running\",\"averageHeartRate\":140,\"distance\":%.1f,\"elapsedDuration\":%d,"
        "\"endedAt\":%.0f,\"environment\":\"outdoor\",\"laps\":[],\"mode\":\"watch\",\"name\":\"Outdoor Running\","
        "\"next\":{\"samples/watch-bench\":%d},\"revision\":3,\"segments\":[[%.0f,%.0f]],\"session\":\"%s\",\"splits\":[],"
        "\"startedAt\":%.0f,\"summaries\":{\"metrics\":2,\"route\":2},\"user\":\"bench-%06d\"}",
        items - 1, items * 3.2, items - 1, start + items - 1, items, start, start + items - 1, session, start, number);
    say(number, "workout", length);
    published_at[number] = now();
}

static void turn(void) {
    flush(&connection);
    struct pollfd wait = {.fd = connection.socket, .events = POLLIN | (unwritten(&connection) > 0 ? POLLOUT : 0)};
    poll(&wait, 1, 100);
    receive(&connection, handle);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fputs("usage: workouts PORT SESSIONS ITEMS UNDER-WAY PID\n", stderr);
        return 1;
    }
    sessions = atoi(argv[2]), items = atoi(argv[3]);
    int under_way = atoi(argv[4]), pid = atoi(argv[5]);
    published_at = calloc((size_t)sessions, sizeof *published_at);
    open_connection(&connection, atoi(argv[1]), "workouts");
    subscribe(&connection, "pacebus/v1/+/+/+/export/folder");
    settle(&connection, handle);
    // The rows of a single workout arrive before the measurement starts.
    if (sessions == 1) {
        publish_rows(0);
        settle(&connection, handle);
    }
    double began = now(), cpu = cpu_seconds(pid);
    for (int next = 0; done < sessions;) {
        if (next < sessions && next - done < under_way && unwritten(&connection) < 1 << 20) {
            if (sessions > 1) publish_rows(next);
            publish_workout(next++);
        }
        turn();
        if (now() - began > timeout) {
            fprintf(stderr, "workouts: %d of %d were exported in %.0f s\n", done, sessions, timeout);
            return 1;
        }
    }
    double seconds = now() - began;
    printf(
        "seconds=%.3f workouts_per_minute=%.0f done_p99=%.3f cpu_ms=%.2f lost=0\n", seconds, sessions / seconds * 60,
        quantile(&to_done, 0.99), (cpu_seconds(pid) - cpu) * 1000 / sessions);
    return 0;
}
