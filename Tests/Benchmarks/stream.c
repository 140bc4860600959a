#include "stream.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool may_send(const struct stream *stream, int batch) {
    int64_t under_way = stream->next - stream->acknowledged;
    return stream->next + batch <= stream->due && under_way + batch <= ITEM_WINDOW &&
           under_way + batch <= (int64_t)BATCH_WINDOW * batch;
}

// MARK: Batches

static char *write_text(char *at, const char *text) {
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

static char *write_number(char *at, int64_t number) {
    char digits[20];
    int count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0) *at++ = digits[--count];
    return at;
}

static char *write_thousandths(char *at, int64_t number) {
    at = write_number(at, number / 1000);
    *at++ = '.';
    for (int64_t unit = 100; unit > 0; unit /= 10) *at++ = (char)('0' + number / unit % 10);
    return at;
}

int heart_rate(int64_t number) { return 110 + (int)(number * 7919 % 101); }

/// Keys and lengths as `device simulate` sends them.
static char *write_item(char *at, int64_t number, int64_t start_milliseconds) {
    int64_t step = number * 7919 % 101;
    at = write_thousandths(write_text(at, "{\"c\":"), start_milliseconds + number * 1000);
    at = write_number(write_text(at, ",\"cd\":"), 150 + step % 30);
    at = write_thousandths(write_text(at, ",\"d\":"), 2500 + step * 10);
    at = write_number(write_text(at, ",\"h\":"), heart_rate(number));
    at = write_thousandths(write_text(at, ",\"k\":"), 180 + step);
    at = write_number(write_text(at, ",\"n\":"), 2 + step % 2);
    at = write_thousandths(write_text(at, ",\"v\":"), 2500 + step * 10);
    *at++ = '}';
    return at;
}

/// Degrees with seven decimals.
static char *write_degrees(char *at, double degrees) { return at + sprintf(at, "%.7f", degrees); }

/// A run along a curve, 3 m each second, with a receiver's noise.
static char *write_location(char *at, int64_t number, int64_t start_milliseconds) {
    int64_t step = number * 7919 % 101;
    at = write_thousandths(write_text(at, "{\"c\":"), start_milliseconds + number * 1000);
    at = write_number(write_text(at, ",\"ac\":"), 3 + step % 9);
    at = write_thousandths(write_text(at, ",\"al\":"), 400000 + number % 600 * 100 + step * 10);
    at = write_degrees(write_text(at, ",\"la\":"), 47 + (double)(number % 20000) * 2.7e-5 + (double)(step - 50) * 4e-7);
    at = write_degrees(
        write_text(at, ",\"lo\":"), 8 + 0.01 * sin((double)number / 500) + (double)(step % 13 - 6) * 3e-6);
    at = write_thousandths(write_text(at, ",\"v\":"), 2500 + step * 10);
    *at++ = '}';
    return at;
}

size_t write_batch(char *text, enum kind kind, int64_t first, int count, int64_t start_milliseconds, bool asks_ack) {
    char *at = write_text(text, asks_ack ? "{\"a\":1,\"s\":" : "{\"s\":");
    at = write_text(write_number(at, first), ",\"x\":[");
    for (int64_t number = first; number < first + count; number++) {
        if (number > first) *at++ = ',';
        at = kind == LOCATIONS ? write_location(at, number, start_milliseconds)
                               : write_item(at, number, start_milliseconds);
    }
    return (size_t)(write_text(at, "]}") - text);
}

size_t batch_size(int count) { return 64 + (size_t)count * 128; }

// MARK: Sessions

static const char session_prefix[] = "00000000-0000-4000-8000-";
enum { NUMBER_AT = sizeof "pacebus/v1/00/bench-" - 1, NUMBER_DIGITS = 6 };
enum { REST_AT = NUMBER_AT + NUMBER_DIGITS + 1 + 36 + 1 };

size_t write_topic(char *text, size_t size, int number, const char *rest) {
    return (size_t)snprintf(
        text, size, "pacebus/v1/%02x/bench-%06d/%s%012x/%s", number & 0xff, number, session_prefix, number, rest);
}

int read_topic(const char *topic, size_t length, const char **rest) {
    if (length <= REST_AT || memcmp(topic + NUMBER_AT - 6, "bench-", 6) != 0) return -1;
    *rest = topic + REST_AT;
    return atoi(topic + NUMBER_AT);
}

size_t write_state(char *text, size_t size, int number, double start) {
    return (size_t)snprintf(
        text, size,
        "{\"activity\":\"running\",\"environment\":\"outdoor\",\"healthKitActivityType\":37,\"isLive\":true,\"laps\":[],"
        "\"mode\":\"watch\","
        "\"name\":\"Outdoor Running\",\"revision\":%.0f,\"segments\":[[%.3f,null]],\"session\":\"%s%012x\","
        "\"startedAt\":%.3f,\"status\":\"active\",\"streams\":{},\"symbol\":\"figure.run\","
        "\"timeZone\":\"Europe/Berlin\","
        "\"units\":\"metric\",\"user\":\"bench-%06d\"}",
        start * 1000, start, session_prefix, number, start, number);
}
