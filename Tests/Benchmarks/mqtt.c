#include "mqtt.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_SIZE = 1 << 20 };
enum packet { CONNECT = 1, CONNACK = 2, PUBLISH = 3, PUBACK = 4, SUBSCRIBE = 8, SUBACK = 9 };

static void fail(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

// MARK: Writing

static uint8_t *reserve(struct connection *connection, size_t length) {
    if (connection->out_start == connection->out_end) connection->out_start = connection->out_end = 0;
    if (connection->out_end + length > connection->out_size) {
        size_t used = unwritten(connection);
        memmove(connection->out, connection->out + connection->out_start, used);
        connection->out_start = 0;
        connection->out_end = used;
        while (used + length > connection->out_size) connection->out_size *= 2;
        connection->out = realloc(connection->out, connection->out_size);
        if (connection->out == NULL) fail("memory");
    }
    return connection->out + connection->out_end;
}

static uint8_t *write_bytes(uint8_t *at, const void *bytes, size_t length) {
    memcpy(at, bytes, length);
    return at + length;
}

static uint8_t *write_short(uint8_t *at, size_t number) {
    *at++ = (uint8_t)(number >> 8);
    *at++ = (uint8_t)number;
    return at;
}

static uint8_t *write_text(uint8_t *at, const char *text, size_t length) {
    return write_bytes(write_short(at, length), text, length);
}

/// Begins a packet with this many bytes after its header.
static uint8_t *begin(struct connection *connection, enum packet packet, unsigned flags, size_t length) {
    uint8_t *at = reserve(connection, length + 5);
    *at++ = (uint8_t)(packet << 4 | flags);
    do {
        *at++ = (uint8_t)(length & 0x7f) | (length > 0x7f ? 0x80 : 0);
        length >>= 7;
    } while (length > 0);
    return at;
}

static void end(struct connection *connection, const uint8_t *at) { connection->out_end = at - connection->out; }

static uint16_t next_packet_id(struct connection *connection) {
    if (++connection->packet_id == 0) connection->packet_id = 1;
    connection->unconfirmed++;
    return connection->packet_id;
}

void publish(struct connection *connection, struct message message, int qos, bool retain) {
    size_t length = 2 + message.topic_length + (qos > 0 ? 2 : 0) + message.payload_length;
    uint8_t *at = begin(connection, PUBLISH, (unsigned)qos << 1 | retain, length);
    at = write_text(at, message.topic, message.topic_length);
    if (qos > 0) at = write_short(at, next_packet_id(connection));
    end(connection, write_bytes(at, message.payload, message.payload_length));
}

void subscribe(struct connection *connection, const char *filter) {
    size_t length = strlen(filter);
    uint8_t *at = begin(connection, SUBSCRIBE, 2, 2 + 2 + length + 1);
    at = write_text(write_short(at, next_packet_id(connection)), filter, length);
    *at++ = 0;
    end(connection, at);
}

size_t unwritten(const struct connection *connection) { return connection->out_end - connection->out_start; }

void flush(struct connection *connection) {
    while (unwritten(connection) > 0) {
        ssize_t written =
            send(connection->socket, connection->out + connection->out_start, unwritten(connection), MSG_NOSIGNAL);
        if (written < 0 && errno == EAGAIN) return;
        if (written < 0) fail("the connection");
        connection->out_start += written;
    }
}

// MARK: Reading

static void handle_publish(const uint8_t *body, size_t length, void (*handle)(struct message)) {
    size_t topic_length = (size_t)body[0] << 8 | body[1];
    handle((struct message){
        .topic = (const char *)body + 2,
        .topic_length = topic_length,
        .payload = (const char *)body + 2 + topic_length,
        .payload_length = length - 2 - topic_length,
    });
}

/// Takes one packet from the front of the bytes; 0 while it is incomplete.
static size_t take_packet(
    struct connection *connection, const uint8_t *bytes, size_t count, void (*handle)(struct message)) {
    size_t length = 0, header = 1;
    for (unsigned shift = 0;; shift += 7) {
        if (header >= count) return 0;
        uint8_t byte = bytes[header++];
        length |= (size_t)(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    if (header + length > IN_SIZE) {
        errno = EMSGSIZE;
        fail("a packet");
    }
    if (header + length > count) return 0;
    switch (bytes[0] >> 4) {
    case PUBLISH: handle_publish(bytes + header, length, handle); break;
    case PUBACK:
    case SUBACK: connection->unconfirmed--; break;
    default: break;
    }
    return header + length;
}

void receive(struct connection *connection, void (*handle)(struct message)) {
    for (;;) {
        ssize_t count = recv(connection->socket, connection->in + connection->in_end, IN_SIZE - connection->in_end, 0);
        if (count < 0 && errno == EAGAIN) return;
        if (count == 0) errno = ECONNRESET;
        if (count <= 0) fail("the connection");
        connection->in_end += count;
        size_t used = 0, packet;
        while ((packet = take_packet(connection, connection->in + used, connection->in_end - used, handle)) > 0)
            used += packet;
        memmove(connection->in, connection->in + used, connection->in_end - used);
        connection->in_end -= used;
    }
}

void settle(struct connection *connection, void (*handle)(struct message)) {
    while (connection->unconfirmed > 0 || unwritten(connection) > 0) {
        flush(connection);
        struct pollfd wait = {.fd = connection->socket, .events = POLLIN | (unwritten(connection) > 0 ? POLLOUT : 0)};
        poll(&wait, 1, 1000);
        receive(connection, handle);
    }
}

// MARK: Opening

static struct {
    const char *user, *password;
} account;

void log_in_as(const char *user, const char *password) {
    account.user = user;
    account.password = password;
}

static void greet(struct connection *connection, const char *client_id) {
    size_t length = strlen(client_id), login = 0;
    if (account.user != NULL) login = 4 + strlen(account.user) + strlen(account.password);
    uint8_t *at = begin(connection, CONNECT, 0, 6 + 4 + 2 + length + login);
    at = write_text(at, "MQTT", 4);
    // Version 3.1.1, a clean session, and no keep-alive, because this client sends no pings.
    at = write_bytes(at, (uint8_t[]){4, account.user == NULL ? 2 : 0xc2, 0, 0}, 4);
    at = write_text(at, client_id, length);
    if (account.user != NULL) {
        at = write_text(at, account.user, strlen(account.user));
        at = write_text(at, account.password, strlen(account.password));
    }
    end(connection, at);
    flush(connection);
    uint8_t answer[4];
    if (recv(connection->socket, answer, sizeof answer, MSG_WAITALL) != sizeof answer) fail("the broker");
    if (answer[0] >> 4 != CONNACK || answer[3] != 0) {
        errno = ECONNREFUSED;
        fail("the broker");
    }
}

void open_connection(struct connection *connection, int port, const char *client_id) {
    *connection = (struct connection){.out_size = 1 << 16, .out = malloc(1 << 16), .in = malloc(IN_SIZE)};
    if (connection->out == NULL || connection->in == NULL) fail("memory");
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(connection->socket, (struct sockaddr *)&address, sizeof address) != 0) fail("the broker");
    int yes = 1;
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    greet(connection, client_id);
    fcntl(connection->socket, F_SETFL, O_NONBLOCK);
}
