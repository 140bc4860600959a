// The broker's part of Pacebus: accounts, people's rights, and the limits that keep one account from hurting others.
//
// Services' accounts begin with `_`; access.conf has their rights. All other accounts belong to people.
// compose/limits.md lists the limits.
#define _GNU_SOURCE
#include "deliveries.h"
#include <mosquitto.h>
#include <mosquitto_broker.h>
#include <mosquitto_plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    TOPIC_LENGTH = 256,
    CONNECTION_COUNT = 50,
    CONNECTION_COUNT_OF_VIEWER = 100,
    /// Of a connection and of an account, and more for each user that it may view.
    FILTER_COUNT = 100,
    FILTER_SHARE = 4,
    FILTER_COUNT_OF_ACCOUNT = 1000,
    FILTER_SHARE_OF_ACCOUNT = 16,
    /// The maximum that waits for a disconnected session, and for all clients of an account.
    OFFLINE_COUNT = 1000,
    OFFLINE_BYTES = 1 << 20,
    WAITING_BYTES = 32 << 20,
    /// Packets that a client has not read. The broker disconnects it.
    UNREAD_PACKETS = 10000,
    /// What a subscription costs that reaches beyond the account's topics: the broker looks at every retained message.
    WIDE_SUBSCRIPTION = 200,
    REPORT_INTERVAL = 60,
    /// Seconds between two messages about the use of an account's devices and browsers.
    USE_INTERVAL = 2,
};
static const double RATE_MESSAGES = 500, BURST_MESSAGES = 20000, RATE_BYTES = 2 << 20, BURST_BYTES = 32 << 20;
static const char *const limit_names[LIMITS] = {
    "publish_rate",
    "deliveries",
    "offline_queue",
    "unread",
    "will",
    "qos_2",
    "subscriptions",
    "connections",
    "sessions",
    "client_id",
    "logins",
};

static bool is_service(const struct account *account) { return account->name[0] == '_'; }

static int refuse(struct account *account, enum limit limit, int result) {
    account->counts[limit]++;
    return result;
}

// MARK: Accounts

/// The topic where the account and the dashboard read whose topics the account reads.
static void account_topic(char *topic, size_t size, const struct account *account) {
    snprintf(topic, size, "$SYS/pacebus/accounts/%s", account->name);
}

/// Reads the client id that the dashboard gives a page, `page-RANDOM-LOGIN-BEGAN-BROWSER` with BEGAN in milliseconds.
static bool read_login(const char *id, struct web_login *login) {
    char began[14];
    int end = 0;
    sscanf(id, "page-%*16[0-9a-f]-%32[0-9a-f]-%13[0-9]-%32[A-Za-z_]%n", login->id, began, login->browser, &end);
    if (end == 0 || id[end] != 0) return false;
    login->began_at = strtod(began, NULL) / 1000;
    return true;
}

/// Whether somebody is connected with this password.
static bool is_online(const struct account *account, const struct secret *secret) {
    const struct connection *connection = account->connections;
    while (connection && memcmp(connection->secret, secret->hash, HASH_SIZE)) connection = connection->next_of_account;
    return connection != NULL;
}

/// Writes `,"devices":[{"device":"watch","at":1700000000,"online":true}]`, the devices with a password of their own;
/// nothing if there are none.
static int write_devices(char *text, const struct account *account) {
    int length = 0, count = 0;
    for (const struct secret *secret = account->secrets; secret && count < DEVICE_COUNT; secret = secret->next) {
        if (secret->device[0] == 0 || !is_name(secret->device)) continue;
        length += sprintf(text + length, "%s{\"device\":\"%s\"", count++ ? "," : ",\"devices\":[", secret->device);
        if (secret->used_at > 0) length += sprintf(text + length, ",\"at\":%.0f", secret->used_at);
        length += sprintf(text + length, "%s}", is_online(account, secret) ? ",\"online\":true" : "");
    }
    return length ? length + sprintf(text + length, "]") : 0;
}

/// Whether a browser is connected with this login.
static bool is_login_online(const struct account *account, const struct web_login *login) {
    struct web_login other;
    const struct connection *connection = account->connections;
    while (connection &&
           !(read_login(mosquitto_client_id(connection->client), &other) && strcmp(other.id, login->id) == 0))
        connection = connection->next_of_account;
    return connection != NULL;
}

/// Writes `,"logins":[{"login":"…","browser":"Chrome_on_Android","began":1700000000.123,"at":1700000000,"online":true}]`,
/// without those of earlier passwords; nothing if there are none.
static int write_logins(char *text, const struct account *account) {
    int length = 0, count = 0;
    for (int i = 0; account->web_logins && i < WEB_LOGIN_COUNT; i++) {
        const struct web_login *login = &account->web_logins[i];
        if (login->used_at == 0 || account_secret(account, login->secret) == NULL) continue;
        length += sprintf(
            text + length, "%s{\"login\":\"%s\",\"browser\":\"%s\",\"began\":%.3f,\"at\":%.0f%s}",
            count++ ? "," : ",\"logins\":[", login->id, login->browser, login->began_at, login->used_at,
            is_login_online(account, login) ? ",\"online\":true" : "");
    }
    return length ? length + sprintf(text + length, "]") : 0;
}

/// Publishes `{"users":["anna"],"viewer":false,"devices":[…],"logins":[…]}` if it may have changed; nothing for a removed
/// account.
static void publish_account(struct account *account) {
    char topic[128],
        text[128 + USER_COUNT * (NAME_SIZE + 3) + DEVICE_COUNT * (NAME_SIZE + 64) + WEB_LOGIN_COUNT * 192] = "";
    if (is_service(account) || !is_name(account->name)) return;
    bool is_use_due = account->is_used && now() - account->published_at >= USE_INTERVAL;
    if (!account->is_changed && !is_use_due) return;
    account->is_changed = account->is_used = false;
    account->published_at = now();
    int length = 0;
    if (account->secrets) {
        length = sprintf(text, "{\"users\":[");
        for (int i = 0; i < account->users.count; i++)
            length += sprintf(text + length, "\"%s\",", account->users.names[i]);
        if (!is_viewer(account)) length += sprintf(text + length, "\"%s\",", account->name);
        length += sprintf(text + length - 1, "],\"viewer\":%s", is_viewer(account) ? "true" : "false") - 1;
        length += write_devices(text + length, account);
        length += write_logins(text + length, account);
        length += sprintf(text + length, "}");
    }
    account_topic(topic, sizeof topic, account);
    mosquitto_broker_publish_copy(NULL, topic, length, text, 1, true, NULL);
}

static bool is_account_topic(const struct account *account, const char *topic) {
    char own[128];
    account_topic(own, sizeof own, account);
    return strcmp(topic, own) == 0;
}

// MARK: Connections

/// Notes that a browser connects or disconnects, in place of what was used least recently. Returns false for other clients.
static bool note_login(struct account *account, const struct secret *secret, const char *id) {
    struct web_login login = {.used_at = (double)time(NULL)};
    if (is_service(account) || !read_login(id, &login)) return false;
    if (account->web_logins == NULL) account->web_logins = calloc(WEB_LOGIN_COUNT, sizeof *account->web_logins);
    if (account->web_logins == NULL) return false;
    struct web_login *logins = account->web_logins;
    size_t at = 0;
    while (at < WEB_LOGIN_COUNT - 1 && strcmp(logins[at].id, login.id)) at++;
    memmove(logins + 1, logins, at * sizeof *logins);
    memcpy(login.secret, secret->hash, HASH_SIZE);
    logins[0] = login;
    return true;
}

/// Notes that a client connects or disconnects.
static void note_use(struct account *account, struct secret *secret, const char *id) {
    if (secret == NULL) return;
    if (note_login(account, secret, id)) account->is_used = true;
    if (secret->device[0] == 0) return;
    secret->used_at = (double)time(NULL);
    account->is_used = true;
}

/// Logs a failed login, at most one a second, with the count of all since the last line. Health checks have no name.
static int fail(const struct mosquitto_evt_basic_auth *login, int code) {
    static double logged_at = -1;
    static unsigned long count;
    if (login->username == NULL) return code;
    count++;
    if (now() - logged_at < 1) return code;
    mosquitto_log_printf(
        MOSQ_LOG_NOTICE, "Login failed: account %.64s, address %s; %lu since the last such line",
        is_name(login->username) ? login->username : "with an invalid name", mosquitto_client_address(login->client),
        count);
    logged_at = now();
    count = 0;
    return code;
}

static int on_login(int event, void *data, void *user_data) {
    (void)event, (void)user_data;
    struct mosquitto_evt_basic_auth *login = data;
    struct mosquitto *client = login->client;
    if (accounts_refresh()) accounts_visit(publish_account);
    struct account *account = login->username ? account_named(login->username) : NULL;
    if (account == NULL || account->secrets == NULL) return fail(login, MOSQ_ERR_AUTH);
    if (!is_supported(client)) {
        mosquitto_log_printf(MOSQ_LOG_ERR, "Error: unsupported broker; install Debian's mosquitto 2.0.11");
        return MOSQ_ERR_AUTH;
    }
    struct connection *connection = connection_of(client);
    if (record(client)->state != STATE_NEW) {
        // After SIGHUP the broker asks again for every session.
        bool is_valid = connection ? account_secret(account, connection->secret) != NULL : record(client)->socket < 0;
        return is_valid ? MOSQ_ERR_SUCCESS : MOSQ_ERR_AUTH;
    }
    if (connection) remove_connection(connection);
    const char *address = mosquitto_client_address(client);
    bool is_limited = false;
    struct secret *secret =
        login->password ? account_verify(account, login->password, address, now(), &is_limited) : NULL;
    // Errors but MOSQ_ERR_AUTH close the connection without CONNACK, and clients retry: the password may be right.
    if (secret == NULL) return fail(login, is_limited ? MOSQ_ERR_CONN_REFUSED : MOSQ_ERR_AUTH);
    const char *id = mosquitto_client_id(client);
    struct connection *other = connection_with(id);
    if (other && other->account != account) return refuse(account, CLIENT_ID, MOSQ_ERR_AUTH);
    if (!is_service(account)) {
        bool is_lasting = record(client)->session_expiry > 0;
        // The password is right, so clients retry.
        if (used_deliveries(account) > DEEP_IN_DEBT) return refuse(account, DELIVERIES, MOSQ_ERR_CONN_REFUSED);
        int count = is_viewer(account) ? CONNECTION_COUNT_OF_VIEWER : CONNECTION_COUNT;
        if (!other && account->connection_count >= count) return refuse(account, CONNECTIONS, MOSQ_ERR_CONN_REFUSED);
        struct session *session = session_of(account, id, is_lasting);
        if (session == NULL && is_lasting) return refuse(account, SESSIONS, MOSQ_ERR_AUTH);
        if (session) session->is_connected = true;
    }
    if (!add_connection(client, account, secret)) return MOSQ_ERR_AUTH;
    note_use(account, secret, id);
    return MOSQ_ERR_SUCCESS;
}

static int on_disconnect(int event, void *data, void *user_data) {
    (void)event, (void)user_data;
    struct mosquitto *client = ((struct mosquitto_evt_disconnect *)data)->client;
    const char *id = mosquitto_client_id(client);
    struct connection *connection = id ? connection_of(client) : NULL;
    if (connection == NULL) return MOSQ_ERR_SUCCESS;
    struct account *account = connection->account;
    note_use(account, account_secret(account, connection->secret), id);
    remove_connection(connection);
    struct session *session = session_of(account, id, false);
    const struct client *it = record(client);
    if (session && connection_with(id) == NULL)
        *session =
            (struct session){it->session_expiry > 0 ? session->id : 0, now(), queued_for(it), filters_of(it), false};
    return MOSQ_ERR_SUCCESS;
}

// MARK: Rights

/// What comes after the user in `pacebus/v1/{shard}/{user}/`, or after the session; `NULL` for other topics.
static const char *topic_of(const char *topic, const char **user, size_t *length, bool *is_session) {
    // Services report a shard in capitals to its publisher.
    static const char prefix[] = "pacebus/v1/", hex[] = "0123456789abcdefABCDEF";
    if (strncmp(topic, prefix, sizeof prefix - 1)) return NULL;
    topic += sizeof prefix - 1;
    *is_session = topic[0] && topic[1] && strchr(hex, topic[0]) && strchr(hex, topic[1]);
    if (!*is_session && topic[0] != 'u') return NULL;
    topic += *is_session ? 2 : 1;
    if (topic[0] != '/') return NULL;
    *user = topic + 1;
    *length = strcspn(*user, "/");
    topic = *user + *length;
    if (*topic++ != '/') return NULL;
    if (!*is_session) return topic;
    const char *session_end = strchr(topic, '/');
    return session_end && session_end > topic ? session_end + 1 : NULL;
}

static bool matches(const char *topic, const char *const filters[]) {
    bool is_match = false;
    for (; *filters && !is_match; filters++) mosquitto_topic_matches_sub(*filters, topic, &is_match);
    return is_match;
}

/// What all accounts may read: which processes of services are online.
static bool is_presence(const char *topic) {
    static const char *const presences[] = {"pacebus/v1/services/+/+", NULL};
    return matches(topic, presences);
}

static bool is_named(const struct account *account, const char *name, size_t length) {
    return strncmp(account->name, name, length) == 0 && account->name[length] == 0;
}

static bool may_read(const struct account *account, const char *name) {
    static const char *const shown[] = {"current", "plans", NULL};
    static const char *const hidden_of_session[] = {"activity/register", "profile", NULL};
    static const char *const of_viewer[] = {"replies/+", "signed-out", NULL};
    bool is_session;
    const char *user;
    size_t length;
    const char *topic = topic_of(name, &user, &length, &is_session);
    if (topic == NULL) return is_account_topic(account, name) || is_presence(name);
    if (account_sees(account, user, length))
        return !is_viewer(account) || (is_session ? !matches(topic, hidden_of_session) : matches(topic, shown));
    // The replies to a viewer's own requests, and its ended logins.
    return is_viewer(account) && is_named(account, user, length) && !is_session && matches(topic, of_viewer);
}

/// Whether a topic below `u/{user}/` is `viewers/{name}/request`.
static bool is_request_of(const char *name, const char *topic) {
    static const char prefix[] = "viewers/";
    size_t length = strlen(name);
    return strncmp(topic, prefix, sizeof prefix - 1) == 0 && strncmp(topic + sizeof prefix - 1, name, length) == 0 &&
           strcmp(topic + sizeof prefix - 1 + length, "/request") == 0;
}

/// What people's devices publish, and its acknowledgements.
static const char *const of_device[] = {
    "command",
    "samples/#",
    "locations/#",
    "activity/register",
    "export/+/result",
    "request",
    NULL,
};

/// Whether a viewer receives the message because a user sent it: a viewed user's flood must not put the viewer in debt.
static bool is_of_viewed_user(const struct account *account, const char *topic) {
    bool is_session;
    const char *user;
    size_t length;
    topic = is_viewer(account) ? topic_of(topic, &user, &length, &is_session) : NULL;
    return topic && is_session && matches(topic, of_device);
}

static bool may_write(const struct account *account, const char *topic) {
    static const char *const of_user[] = {
        "import-request",
        "imports/+/parts",
        "notifications/register",
        "request",
        "run-request",
        "sign-out",
        NULL,
    };
    static const char *const of_session[] = {
        "command",
        "samples/+",
        "locations/+",
        "activity/register",
        "export/+/result",
        "request",
        NULL,
    };
    bool is_session;
    const char *user;
    size_t length;
    if (strlen(topic) > TOPIC_LENGTH) return false;
    topic = topic_of(topic, &user, &length, &is_session);
    if (topic == NULL) return false;
    // The logins of a viewer's account are its own.
    if (is_viewer(account) && is_named(account, user, length)) return !is_session && strcmp(topic, "sign-out") == 0;
    if (!account_sees(account, user, length)) return false;
    if (is_viewer(account)) return !is_session && is_request_of(account->name, topic);
    // Items of importer's device count as files: nobody else writes as it.
    if (is_session && (strcmp(topic, "samples/import") == 0 || strcmp(topic, "locations/import") == 0)) return false;
    return matches(topic, is_session ? of_session : of_user);
}

// MARK: Limits

static bool take_messages(struct account *account, double count, double bytes) {
    double time = now();
    if (!bucket_take(&account->messages, count, RATE_MESSAGES, BURST_MESSAGES, time)) return false;
    if (bucket_take(&account->bytes, bytes, RATE_BYTES, BURST_BYTES, time)) return true;
    account->messages.used -= count;
    return false;
}

static int on_publish(struct account *account, const struct mosquitto_evt_acl_check *message) {
    struct connection *newest = connection_with(mosquitto_client_id(message->client));
    // Wills pass no MOSQ_EVT_MESSAGE, so nothing can clear their flag and their properties.
    bool is_will = newest == NULL || newest->client != message->client;
    const struct will *will = record(message->client)->will;
    if (is_will && (message->retain || !will || will->properties)) return refuse(account, WILL, MOSQ_ERR_ACL_DENIED);
    if (message->qos == 2) return refuse(account, QOS_2, MOSQ_ERR_ACL_DENIED);
    if (used_deliveries(account) > IN_DEBT) return refuse(account, DELIVERIES, MOSQ_ERR_ACL_DENIED);
    if (!take_messages(account, 1, message->payloadlen + (double)strlen(message->topic)))
        return refuse(account, PUBLISH_RATE, MOSQ_ERR_ACL_DENIED);
    return MOSQ_ERR_SUCCESS;
}

static int on_delivery(struct account *account, const struct mosquitto_evt_acl_check *message) {
    const struct client *client = record(message->client);
    size_t bytes = message->payloadlen + strlen(message->topic) + MESSAGE_OVERHEAD;
    double used = used_deliveries(account);
    if (used > LAST_DELIVERY || (used > OTHERS_SHARE && is_of_viewed_user(account, message->topic)))
        return refuse(account, DELIVERIES, MOSQ_ERR_ACL_DENIED);
    charge_delivery(account, message->payloadlen);
    // A session that continues: the broker asks again for what already waits.
    if (client->state == STATE_NEW) return MOSQ_ERR_SUCCESS;
    if (client->socket < 0) {
        if (message->qos == 0) return MOSQ_ERR_SUCCESS;
        // After its restart the broker has sessions that the plugin does not know.
        struct session *session = session_of(account, client->id, true);
        if (session == NULL || client->out.count >= OFFLINE_COUNT ||
            queued_for(client) + message->payloadlen > OFFLINE_BYTES ||
            waiting_for_account(account) + bytes > WAITING_BYTES)
            return refuse(account, OFFLINE_QUEUE, MOSQ_ERR_ACL_DENIED);
        session->bytes = queued_for(client) + bytes;
        session->filters = filters_of(client);
        return MOSQ_ERR_SUCCESS;
    }
    struct connection *connection = connection_of(message->client);
    if (connection == NULL) return MOSQ_ERR_ACL_DENIED;
    if (client->unsent_packets == 0) connection->unread = 0;
    if (waiting_for(connection) > 1 << 16 && waiting_for_account(account) + bytes > WAITING_BYTES)
        return refuse(account, UNREAD, MOSQ_ERR_ACL_DENIED);
    connection->unread += bytes;
    return MOSQ_ERR_SUCCESS;
}

/// Whether the client may have this filter, which costs nothing if it has it already.
static bool has_room_for(const struct account *account, const struct client *client, const char *filter) {
    int users = account->users.count;
    if (has_filter(client, filter)) return true;
    return filters_of(client) < FILTER_COUNT + FILTER_SHARE * users &&
           filters_of_account(account) < FILTER_COUNT_OF_ACCOUNT + FILTER_SHARE_OF_ACCOUNT * users;
}

static int on_subscription(struct account *account, const struct mosquitto_evt_acl_check *subscription) {
    const char *filter = subscription->topic;
    const char *name = strncmp(filter, "pacebus/v1/", 11) ? NULL : strchr(filter + 11, '/');
    size_t length = name ? strcspn(++name, "/") : 0;
    bool is_own = is_presence(filter) || (name ? account_sees(account, name, length) || is_named(account, name, length)
                                               : is_account_topic(account, filter));
    if (used_deliveries(account) > IN_DEBT) return refuse(account, DELIVERIES, MOSQ_ERR_ACL_DENIED);
    if (strlen(filter) > TOPIC_LENGTH || strncmp(filter, "$share", 6) == 0 ||
        !has_room_for(account, record(subscription->client), filter) ||
        !take_messages(account, is_own ? 1 : WIDE_SUBSCRIPTION, 0))
        return refuse(account, SUBSCRIPTIONS, MOSQ_ERR_ACL_DENIED);
    charge_subscription(account);
    return MOSQ_ERR_SUCCESS;
}

static int on_access(int event, void *data, void *user_data) {
    (void)event, (void)user_data;
    struct mosquitto_evt_acl_check *check = data;
    const char *name = mosquitto_client_username(check->client);
    if (name && name[0] == '_') return MOSQ_ERR_PLUGIN_DEFER;
    struct account *account = name ? account_named(name) : NULL;
    if (account == NULL || account->secrets == NULL) return MOSQ_ERR_ACL_DENIED;
    // An operator may add other topics to access.conf.
    bool is_ours = strncmp(check->topic, "pacebus/", 8) == 0 ||
                   (check->access == MOSQ_ACL_READ && is_account_topic(account, check->topic));
    int result = MOSQ_ERR_SUCCESS;
    switch (check->access) {
    case MOSQ_ACL_READ:
        if (is_ours && !may_read(account, check->topic)) {
            charge_unreadable(account);
            return MOSQ_ERR_ACL_DENIED;
        }
        result = on_delivery(account, check);
        break;
    case MOSQ_ACL_WRITE:
        if (is_ours && !may_write(account, check->topic)) return MOSQ_ERR_ACL_DENIED;
        result = on_publish(account, check);
        break;
    case MOSQ_ACL_SUBSCRIBE: return on_subscription(account, check);
    }
    return result == MOSQ_ERR_SUCCESS && !is_ours ? MOSQ_ERR_PLUGIN_DEFER : result;
}

static int on_message(int event, void *data, void *user_data) {
    (void)event, (void)user_data;
    struct mosquitto_evt_message *message = data;
    const char *name = mosquitto_client_username(message->client);
    if (name && name[0] == '_') return MOSQ_ERR_SUCCESS;
    message->retain = false;
    // A queue's bytes count payloads only.
    mosquitto_property_free_all(&message->properties);
    return MOSQ_ERR_SUCCESS;
}

// MARK: Every second

static void publish_count(const struct account *account, enum limit limit, const char *count) {
    char topic[128];
    snprintf(topic, sizeof topic, "$SYS/pacebus/limited/%s/%s", limit_names[limit], account->name);
    mosquitto_broker_publish_copy(NULL, topic, (int)strlen(count), count, 0, true, NULL);
}

static void report(struct account *account) {
    if (memcmp(account->counts, account->reported, sizeof account->counts) == 0) return;
    if (account->reported_at > 0 && now() - account->reported_at < REPORT_INTERVAL) return;
    for (int limit = 0; limit < LIMITS; limit++) {
        char count[24];
        if (account->counts[limit] == account->reported[limit]) continue;
        mosquitto_log_printf(
            MOSQ_LOG_WARNING, "Warning: limit reached: account %s, limit %s, count %lu", account->name,
            limit_names[limit], account->counts[limit] - account->reported[limit]);
        snprintf(count, sizeof count, "%lu", account->counts[limit]);
        publish_count(account, limit, count);
    }
    memcpy(account->reported, account->counts, sizeof account->counts);
    account->reported_at = now();
}

static void clear_counts(struct account *account) {
    for (int limit = 0; limit < LIMITS; limit++)
        if (account->reported[limit]) publish_count(account, limit, "");
}

/// Whether the client is revoked or never reads.
static bool is_unwanted(const struct connection *connection) {
    bool is_unread = !is_service(connection->account) && record(connection->client)->unsent_packets > UNREAD_PACKETS;
    if (is_unread) connection->account->counts[UNREAD]++;
    return is_unread || account_secret(connection->account, connection->secret) == NULL;
}

static int on_tick(int event, void *data, void *user_data) {
    (void)event, (void)data, (void)user_data;
    static double last;
    double time = now();
    if (time - last < 0.1) return MOSQ_ERR_SUCCESS;
    bool is_new_second = (long)time != (long)last;
    last = time;
    bool is_changed = accounts_refresh();
    if (!is_changed && !is_new_second) return MOSQ_ERR_SUCCESS;
    accounts_visit(publish_account);
    disconnect_all(is_unwanted);
    if (is_new_second) accounts_visit(close_indebted);
    accounts_visit(report);
    accounts_sweep(clear_counts);
    return MOSQ_ERR_SUCCESS;
}

// MARK: The plugin

int mosquitto_plugin_version(int count, const int *versions) {
    for (int i = 0; i < count; i++)
        if (versions[i] == 5) return 5;
    return -1;
}

int mosquitto_plugin_init(mosquitto_plugin_id_t *plugin, void **user_data, struct mosquitto_opt *options, int count) {
    (void)user_data;
    const char *passwords = NULL, *viewers = NULL;
    for (int i = 0; i < count; i++) {
        if (strcmp(options[i].key, "passwords") == 0) passwords = options[i].value;
        if (strcmp(options[i].key, "viewers") == 0) viewers = options[i].value;
    }
    if (passwords == NULL || viewers == NULL || !accounts_open(passwords, viewers)) {
        mosquitto_log_printf(MOSQ_LOG_ERR, "Error: cannot read the accounts in %s and %s", passwords, viewers);
        return MOSQ_ERR_INVAL;
    }
    // The broker never flushes its log, and operators would read warnings hours later.
    setvbuf(stdout, NULL, _IOLBF, 0);
    mosquitto_callback_register(plugin, MOSQ_EVT_BASIC_AUTH, on_login, NULL, NULL);
    mosquitto_callback_register(plugin, MOSQ_EVT_DISCONNECT, on_disconnect, NULL, NULL);
    mosquitto_callback_register(plugin, MOSQ_EVT_ACL_CHECK, on_access, NULL, NULL);
    mosquitto_callback_register(plugin, MOSQ_EVT_MESSAGE, on_message, NULL, NULL);
    mosquitto_callback_register(plugin, MOSQ_EVT_TICK, on_tick, NULL, NULL);
    return MOSQ_ERR_SUCCESS;
}

int mosquitto_plugin_cleanup(void *user_data, struct mosquitto_opt *options, int count) {
    (void)user_data, (void)options, (void)count;
    return MOSQ_ERR_SUCCESS;
}
