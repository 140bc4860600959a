// As much of an MQTT 3.1.1 client as the load needs. It never blocks while it sends, and writes many messages at once,
// so that on two cores the publisher takes little of what is measured.

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection {
    int socket;
    uint8_t *out;
    size_t out_start, out_end, out_size;
    uint8_t *in;
    size_t in_end;
    uint16_t packet_id;
    /// QoS 1 messages and subscriptions that the broker has not confirmed.
    long unconfirmed;
};

struct message {
    const char *topic;
    size_t topic_length;
    const char *payload;
    size_t payload_length;
};

/// Connects to the broker on loopback; ends the process with a line that says why when it cannot.
void open_connection(struct connection *connection, int port, const char *client_id);
void subscribe(struct connection *connection, const char *filter);
void publish(struct connection *connection, struct message message, int qos, bool retain);
/// Bytes that wait to be written.
size_t unwritten(const struct connection *connection);
/// Writes what the socket takes.
void flush(struct connection *connection);
/// Reads what is there.
void receive(struct connection *connection, void (*handle)(struct message));
/// Writes and reads until the broker has confirmed everything.
void settle(struct connection *connection, void (*handle)(struct message));
