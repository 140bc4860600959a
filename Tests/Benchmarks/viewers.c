// Publishes live sessions whose metrics change every second, evenly spread, and watches them through the dashboard's
// WebSockets.
//
// viewers PORT WEB-PORT SESSIONS VIEWERS WARM-UP SECONDS PID COOKIES: prints `key=value`: events a second, quantiles of the
// time from a session's metrics to a viewer, cores that the process PID, dashboard, used, its memory in bytes, that for each
// viewer, the seconds until all viewers have metrics again after all of them lost their connection, and how many never had
// any. COOKIES is a file with a header line for each login, of the sessions' users in turn. Without viewers it only
// publishes, with PORT 0 it only watches.

#include "measure.h"
#include "mqtt.h"
#include "stream.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 16384, COOKIE = 512, COOKIES = 4096 };

struct viewer {
    int socket;
    size_t length;
    long events;
    char text[BUFFER];
};

static struct connection connection;
static struct viewer *viewers;
static char cookies[COOKIES][COOKIE];
static int cookie_count, session_count, viewer_count, web_port, poller;
static bool is_measuring, is_publishing;
static long events, sent;
static double began;
static struct durations latencies;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void handle(struct message message) { (void)message; }

static void say(int number, const char *rest, const char *payload, size_t length, int qos) {
    char topic[128];
    struct message message = {.topic = topic, .payload = payload, .payload_length = length};
    message.topic_length = write_topic(topic, sizeof topic, number, rest);
    publish(&connection, message, qos, true);
}

static void publish_states(void) {
    char text[1024];
    struct message presence = {.topic = "pacebus/v1/services/_session-engine/session-engine-0123456789abcdef"};
    presence.topic_length = strlen(presence.topic);
    presence.payload = text;
    presence.payload_length = (size_t)snprintf(text, sizeof text, "{\"at\":%.3f,\"status\":\"online\"}", now());
    // Without it the dashboard does not know which logins have ended.
    publish(&connection, presence, 1, true);
    for (int number = 0; number < session_count; number++) {
        say(number, "state", text, write_state(text, sizeof text, number, now() - 60), 1);
        if (number % 500 == 499) settle(&connection, handle);
    }
    settle(&connection, handle);
}

static void publish_metrics(int number, double time) {
    char text[512];
    double seconds = time - began + 60;
    int length = snprintf(
        text, sizeof text,
        "{\"c\":%.6f,\"d\":%.1f,\"h\":%d,\"ha\":140.5,\"hx\":171,\"k\":%.1f,\"lp\":1,\"n\":%.0f,\"p\":312.5,\"pa\":false,"
        "\"s\":%.0f,\"t\":%.3f,\"u\":\"bench-%06d\",\"v\":3.2}",
        time, seconds * 3.2, 110 + (int)seconds % 80, seconds / 5, seconds, time * 1000, seconds, number);
    say(number, "metrics", text, (size_t)length, 0);
}

/// Writes a binary frame with a mask of zeros.
static void write_frame(int socket, const unsigned char *bytes, size_t length) {
    unsigned char frame[256] = {0x82, 0x80 | (unsigned char)length};
    memcpy(frame + 6, bytes, length);
    if (write(socket, frame, length + 6) != (ssize_t)length + 6) fail("write");
}

static void open_viewer(int index) {
    // A CONNECT of MQTT 3.1.1 without a user name and client id: the dashboard puts in those of the cookie.
    static const unsigned char hello[] = {0x10, 12, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, 0};
    struct viewer *viewer = &viewers[index];
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)web_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    viewer->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (viewer->socket < 0 || connect(viewer->socket, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");
    char request[1024], answer[1024];
    int length = snprintf(
        request, sizeof request,
        "GET /mqtt HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: http://127.0.0.1:%d\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        "Sec-WebSocket-Protocol: mqtt\r\n%s\r\n\r\n",
        web_port, web_port, cookies[index % cookie_count]);
    if (write(viewer->socket, request, (size_t)length) != length) fail("write");
    ssize_t count = read(viewer->socket, answer, sizeof answer - 1);
    if (count <= 0 || strncmp(answer, "HTTP/1.1 101", 12) != 0) {
        fprintf(stderr, "viewer %d is refused: %.*s\n", index, (int)(count > 0 ? count : 0), answer);
        exit(1);
    }
    write_frame(viewer->socket, hello, sizeof hello);
    unsigned char subscribe[160] = {0x82, 0, 0, 1, 0};
    size_t size = write_topic((char *)subscribe + 6, sizeof subscribe - 7, index % session_count, "metrics");
    subscribe[1] = (unsigned char)(size + 5);
    subscribe[5] = (unsigned char)size;
    subscribe[6 + size] = 0;
    write_frame(viewer->socket, subscribe, size + 7);
    viewer->length = 0;
    viewer->events = 0;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)index};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, viewer->socket, &event) != 0) fail("epoll_ctl");
}

/// Takes whole payloads of metrics out of what was read.
static void take(struct viewer *viewer) {
    static const char head[] = "{\"c\":";
    double time = now();
    char *at = viewer->text, *end = viewer->text + viewer->length;
    char *event, *stop;
    while ((event = memmem(at, (size_t)(end - at), head, sizeof head - 1)) &&
           (stop = memmem(event, (size_t)(end - event), "}", 1))) {
        if (is_measuring) add_duration(&latencies, time - strtod(event + sizeof head - 1, NULL));
        viewer->events++;
        if (is_measuring) events++;
        at = stop + 1;
    }
    // The rest may be the beginning of a payload.
    size_t rest = (size_t)(end - at);
    if (!event && rest > sizeof head) at = end - sizeof head, rest = sizeof head;
    memmove(viewer->text, at, rest);
    viewer->length = rest;
}

/// Keeps the connections.
static void ping(void) {
    static const unsigned char request[] = {0xc0, 0};
    static double pinged;
    if (now() - pinged < 25) return;
    pinged = now();
    for (int index = 0; index < viewer_count; index++)
        if (viewers[index].socket > 0) write_frame(viewers[index].socket, request, sizeof request);
}

static void receive_events(int milliseconds) {
    struct epoll_event ready[256];
    int count = epoll_wait(poller, ready, 256, milliseconds);
    for (int index = 0; index < count; index++) {
        struct viewer *viewer = &viewers[ready[index].data.u32];
        ssize_t length = read(viewer->socket, viewer->text + viewer->length, BUFFER - viewer->length);
        if (length <= 0) {
            fprintf(stderr, "viewer %u lost its connection: %.200s\n", ready[index].data.u32, viewer->text);
            exit(1);
        }
        viewer->length += (size_t)length;
        take(viewer);
    }
}

/// Publishes what is due, and reads.
static void turn(void) {
    double time = now();
    if (is_publishing) {
        for (; sent < (time - began) * session_count; sent++) publish_metrics((int)(sent % session_count), time);
        flush(&connection);
        receive(&connection, handle);
    }
    ping();
    receive_events(2);
}

static void turn_for(double seconds) {
    for (double until = now() + seconds; now() < until;) turn();
}

/// Waits until every viewer has metrics. Returns the number of those that have none.
static int wait_for_all(double limit) {
    double deadline = now() + limit;
    int waiting = 0;
    while (waiting < viewer_count && now() < deadline) {
        if (viewers[waiting].events > 0) waiting++;
        else turn();
    }
    return viewer_count - waiting;
}

int main(int argc, char **argv) {
    if (argc != 9) {
        fputs("usage: viewers PORT WEB-PORT SESSIONS VIEWERS WARM-UP SECONDS PID COOKIES\n", stderr);
        return 1;
    }
    web_port = atoi(argv[2]), session_count = atoi(argv[3]), viewer_count = atoi(argv[4]);
    double warm_up = atof(argv[5]), seconds = atof(argv[6]);
    int pid = atoi(argv[7]);
    FILE *file = fopen(argv[8], "r");
    if (!file) fail(argv[8]);
    while (cookie_count < COOKIES && fgets(cookies[cookie_count], COOKIE, file)) {
        char *line = cookies[cookie_count];
        line[strcspn(line, "\r\n")] = 0;
        if (line[0]) cookie_count++;
    }
    if (viewer_count > 0 && cookie_count == 0) fail("no cookies");
    viewers = calloc((size_t)viewer_count + 1, sizeof *viewers);
    poller = epoll_create1(EPOLL_CLOEXEC);
    is_publishing = atoi(argv[1]) > 0;
    if (is_publishing) {
        open_connection(&connection, atoi(argv[1]), "viewers");
        publish_states();
    }
    began = now();
    turn_for(warm_up);
    long memory = resident_kilobytes(pid);
    for (int index = 0; index < viewer_count; index++) {
        open_viewer(index);
        if (index % 20 == 19) turn();
    }
    int lost = wait_for_all(30);
    turn_for(warm_up);
    double cpu = cpu_seconds(pid), start = now();
    is_measuring = true;
    turn_for(seconds);
    is_measuring = false;
    double elapsed = now() - start;
    cpu = (cpu_seconds(pid) - cpu) / elapsed;
    long resident = resident_kilobytes(pid);
    double again = 0;
    if (viewer_count > 0) {
        start = now();
        for (int index = 0; index < viewer_count; index++) close(viewers[index].socket), viewers[index].socket = 0;
        for (int index = 0; index < viewer_count; index++) {
            open_viewer(index);
            if (index % 20 == 19) turn();
        }
        lost += wait_for_all(30);
        again = now() - start;
    }
    printf(
        "events_per_second=%.0f latency_p50=%.4f latency_p99=%.4f cpu=%.3f bytes=%.0f viewer_bytes=%.0f again=%.2f missing=%d lost=0\n",
        (double)events / elapsed, quantile(&latencies, 0.5), quantile(&latencies, 0.99), cpu, (double)resident * 1024,
        viewer_count > 0 ? (double)(resident - memory) * 1024 / viewer_count : 0, again, lost);
    return 0;
}
