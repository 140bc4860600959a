// The part of an MQTT 3.1.1 client that the load generators need. It never blocks while sending and writes many messages at
// once, so on two cores the publisher takes little CPU from the measured process.

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

/// The account of later connections; without one they are anonymous.
void log_in_as(const char *user, const char *password);
/// Connects to the broker on loopback; prints the reason and ends the process on failure.
void open_connection(struct connection *connection, int port, const char *client_id);
void subscribe(struct connection *connection, const char *filter);
void publish(struct connection *connection, struct message message, int qos, bool retain);
/// Bytes not written yet.
size_t unwritten(const struct connection *connection);
/// Writes as much as the socket accepts.
void flush(struct connection *connection);
/// Reads the available bytes.
void receive(struct connection *connection, void (*handle)(struct message));
/// Writes and reads until the broker has confirmed everything.
void settle(struct connection *connection, void (*handle)(struct message));
