#pragma once
#include "accounts.h"
#include "client.h"
#include <mosquitto_broker.h>

/// What the broker needs for a waiting message besides its payload.
enum { MESSAGE_OVERHEAD = 256 };

/// A client that has logged in.
struct connection {
    struct connection *next, *next_of_account;
    struct mosquitto *client;
    struct account *account;
    uint8_t secret[HASH_SIZE];
    /// Bytes since the client last had read everything.
    size_t unread;
};

/// Monotonic seconds.
double now(void);
const struct client *record(const struct mosquitto *client);
/// Whether `struct client` describes this broker, judged by a client that logs in.
bool is_supported(struct mosquitto *client);

bool add_connection(struct mosquitto *client, struct account *account, const struct secret *secret);
void remove_connection(struct connection *connection);
void disconnect_all(bool (*is_unwanted)(const struct connection *));
struct connection *connection_of(const struct mosquitto *client);
/// The newest connection with this client id. While a client takes over a session, there are two.
struct connection *connection_with(const char *id);
/// The account's session, which is added if `adds`; `NULL` if the account has too many.
struct session *session_of(struct account *account, const char *id, bool adds);

/// The filters that a client is subscribed to, and all clients of an account.
int filters_of(const struct client *client);
int filters_of_account(const struct account *account);
bool has_filter(const struct client *client, const char *filter);
/// The payloads that the client has not acknowledged.
size_t queued_for(const struct client *client);
/// The bytes that the broker stores for a client, and for all clients of an account.
size_t waiting_for(const struct connection *connection);
size_t waiting_for_account(const struct account *account);
