// Who is connected, and what waits for each client.
#define _GNU_SOURCE
#include "connections.h"
#include <mosquitto.h>
#include <mosquitto_broker.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE = 8192 };
/// persistent_client_expiration in mosquitto.conf.
static const double SESSION_SECONDS = 2 * 86400;

static struct connection *connections[TABLE];

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

const struct client *record(const struct mosquitto *client) { return (const void *)client; }

static struct connection **chain_of(const char *id) { return &connections[hash_of(id) % TABLE]; }

struct connection *connection_with(const char *id) {
    struct connection *connection = *chain_of(id);
    while (connection && strcmp(mosquitto_client_id(connection->client), id)) connection = connection->next;
    return connection;
}

struct connection *connection_of(const struct mosquitto *client) {
    struct connection *connection = *chain_of(mosquitto_client_id(client));
    while (connection && connection->client != client) connection = connection->next;
    return connection;
}

struct session *session_of(struct account *account, const char *id, bool adds) {
    if (account->sessions == NULL && (!adds || !(account->sessions = calloc(SESSION_COUNT, sizeof *account->sessions))))
        return NULL;
    struct session *free = NULL;
    double time = now();
    uint64_t hash = hash_of(id) | 1;
    for (struct session *session = account->sessions; session < account->sessions + SESSION_COUNT; session++) {
        if (session->id == hash) return session;
        // The broker has removed an expired one.
        if (session->id == 0 || (!session->is_connected && time - session->ended > SESSION_SECONDS)) free = session;
    }
    if (!adds || free == NULL) return NULL;
    *free = (struct session){.id = hash, .ended = time};
    return free;
}

int filters_of(const struct client *client) {
    int count = 0;
    for (int i = 0; i < client->subscription_count; i++) count += client->subscriptions[i] != NULL;
    return count;
}

int filters_of_account(const struct account *account) {
    int count = 0;
    for (const struct connection *at = account->connections; at; at = at->next_of_account)
        count += filters_of(record(at->client));
    for (int i = 0; account->sessions && i < SESSION_COUNT; i++)
        if (account->sessions[i].id && !account->sessions[i].is_connected) count += account->sessions[i].filters;
    return count;
}

bool has_filter(const struct client *client, const char *filter) {
    for (int i = 0; i < client->subscription_count; i++)
        if (client->subscriptions[i] && strcmp(client->subscriptions[i]->filter, filter) == 0) return true;
    return false;
}

size_t queued_for(const struct client *client) { return client->out.bytes > 0 ? (size_t)client->out.bytes : 0; }

size_t waiting_for(const struct connection *connection) {
    const struct client *client = record(connection->client);
    return queued_for(client) + (size_t)client->out.count * MESSAGE_OVERHEAD +
           (client->unsent_packets ? connection->unread : 0);
}

size_t waiting_for_account(const struct account *account) {
    size_t bytes = 0;
    for (const struct connection *at = account->connections; at; at = at->next_of_account) bytes += waiting_for(at);
    for (int i = 0; account->sessions && i < SESSION_COUNT; i++)
        if (account->sessions[i].id && !account->sessions[i].is_connected) bytes += account->sessions[i].bytes;
    return bytes;
}

bool is_supported(struct mosquitto *client) {
    static bool is_checked;
    const struct client *it = record(client);
    if (!is_checked)
        is_checked = it->id == mosquitto_client_id(client) && it->username == mosquitto_client_username(client) &&
                     it->address == mosquitto_client_address(client) && it->socket >= 0 && it->state == STATE_NEW &&
                     it->keep_alive == mosquitto_client_keepalive(client) && it->unsent_packets == 0 &&
                     it->is_clean == mosquitto_client_clean_session(client) && it->in.maximum > 0 &&
                     it->in.quota == it->in.maximum && it->listener && it->subscription_count == 0;
    return is_checked;
}

void remove_connection(struct connection *connection) {
    struct connection **at = chain_of(mosquitto_client_id(connection->client));
    while (*at != connection) at = &(*at)->next;
    *at = connection->next;
    for (at = &connection->account->connections; *at != connection;) at = &(*at)->next_of_account;
    *at = connection->next_of_account;
    connection->account->connection_count--;
    free(connection);
}

bool add_connection(struct mosquitto *client, struct account *account, const struct secret *secret) {
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) return false;
    struct connection **chain = chain_of(mosquitto_client_id(client));
    *connection = (struct connection){*chain, account->connections, client, account, {0}, 0};
    memcpy(connection->secret, secret->hash, HASH_SIZE);
    *chain = account->connections = connection;
    account->connection_count++;
    return true;
}

static bool disconnect_one(bool (*is_unwanted)(const struct connection *)) {
    for (int i = 0; i < TABLE; i++) {
        for (struct connection *at = connections[i]; at; at = at->next) {
            if (!is_unwanted(at)) continue;
            if (mosquitto_kick_client_by_clientid(mosquitto_client_id(at->client), false) == MOSQ_ERR_SUCCESS)
                return true;
        }
    }
    return false;
}

void disconnect_all(bool (*is_unwanted)(const struct connection *)) {
    // Each disconnection changes the table.
    while (disconnect_one(is_unwanted)) continue;
}
