#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/// A client as mosquitto 2.0.11 stores it: `struct mosquitto` up to the last member that the plugin reads.
///
/// The public interface has no queue lengths, and without them a client that never reads or acknowledges fills the
/// broker's memory. The plugin compares the record with the public accessors at the first login and refuses all logins
/// if they differ.
struct client {
    int kind, socket;
    uint32_t maximum_packet_size;
    void *resolver;
    int protocol;
    char *address, *id, *username, *password;
    uint16_t keep_alive, last_packet_id;
    int state;
    time_t last_message_in, next_message_out, ping_time;
    struct {
        void *payload, *next;
        uint32_t numbers[5];
        uint16_t packet_id;
        uint8_t command;
        int8_t remaining_count;
    } incoming_packet;
    void *current_packet, *first_packet;
    struct will {
        void *next, *previous, *properties;
    } *will;
    void *aliases, *delayed_will;
    int alias_count, unsent_packets;
    uint32_t will_delay;
    time_t will_delay_time;
    void *tls[14];
    int tls_verification;
    bool tls_flags[4];
    int tls_key_form;
    bool wants_write, wants_connect, is_clean;
    time_t session_expiry_time;
    /// Seconds; 0 if the session ends with the connection.
    uint32_t session_expiry;
    bool is_removed, is_dropping, is_bridge;
    void *bridge;
    struct {
        void *in_flight, *queued;
        long bytes, acknowledged_bytes;
        int count, acknowledged_count, quota;
        uint16_t maximum;
    } in, out;
    void *rules, *listener, *last_packet;
    /// `NULL` where a subscription has ended.
    struct subscription {
        void *subscribers, *shared;
        char filter[];
    } **subscriptions;
    char *authentication_method;
    int subscription_count;
};

/// The value of `state` until CONNACK.
enum { STATE_NEW = 0 };
