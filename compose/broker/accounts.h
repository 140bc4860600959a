#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What operators read of each account: `$SYS/pacebus/limited/LIMIT/ACCOUNT` and a line in the log.
enum limit {
    PUBLISH_RATE,
    DELIVERIES,
    OFFLINE_QUEUE,
    UNREAD,
    WILL,
    QOS_2,
    SUBSCRIPTIONS,
    CONNECTIONS,
    SESSIONS,
    CLIENT_ID,
    LOGINS,
    LIMITS
};

enum {
    NAME_SIZE = 65,
    HASH_SIZE = 64,
    SESSION_COUNT = 16,
    USER_COUNT = 100,
    DEVICE_COUNT = 100,
    WEB_LOGIN_COUNT = 20,
    WEB_LOGIN_SIZE = 32
};

/// A password of an account, as mosquitto_passwd stores it.
struct secret {
    struct secret *next;
    int iterations, salt_length;
    uint8_t salt[64], hash[HASH_SIZE + 2];
    /// A fast keyed hash of the password after its first login, so that later logins cost nothing.
    uint8_t proof[32];
    bool is_proven;
    /// Empty for the account's own password.
    char device[NAME_SIZE];
    /// Unix seconds of the last login, or of the end of the last connection; 0 before the first.
    double used_at;
};

/// A login of a browser, as the client ids of its connections describe it.
struct web_login {
    char id[WEB_LOGIN_SIZE + 1], browser[WEB_LOGIN_SIZE + 1];
    uint8_t secret[HASH_SIZE];
    /// Unix seconds: when it began, and when it last connected or disconnected; 0 in a free entry.
    double began_at, used_at;
};

/// A session that outlives its connection.
struct session {
    uint64_t id;
    double ended;
    size_t bytes;
    int filters;
    bool is_connected;
};

/// Tokens that return with time.
struct bucket {
    double used, at;
};

/// At most USER_COUNT names.
struct users {
    char (*names)[NAME_SIZE];
    int count;
};

struct account {
    struct account *next;
    char name[NAME_SIZE];
    /// The users whose topics a viewer reads, sorted; none for a user's account, which reads its own.
    struct users users, new_users;
    /// Since the account was published; `is_used` if a device or a browser has connected or disconnected.
    bool is_changed, is_used;
    double published_at;
    struct secret *secrets, *new_secrets;
    struct connection *connections;
    int connection_count;
    struct bucket messages, bytes, deliveries;
    struct session *sessions;
    /// WEB_LOGIN_COUNT, what was used last first; `NULL` before the first.
    struct web_login *web_logins;
    unsigned long counts[LIMITS], reported[LIMITS];
    double reported_at;
};

/// Sets the files that accounts and viewers are read from; false if they are invalid.
bool accounts_open(const char *passwords, const char *viewers);
/// Reads the files again if they were replaced; whether the accounts may have changed. Invalid files change nothing.
bool accounts_refresh(void);
/// The account with this name, or `NULL`. A removed account has no secrets.
struct account *account_named(const char *name);
/// Frees accounts without secrets and connections; calls `remove` first.
void accounts_sweep(void (*remove)(struct account *));
void accounts_visit(void (*visit)(struct account *));
/// The account's secret that matches the password, or `NULL`; `is_limited` if not all secrets were compared.
struct secret *account_verify(
    struct account *account, const char *password, const char *address, double now, bool *is_limited);
/// Whether the text is safe as a level of a topic and in JSON.
bool is_name(const char *text);
bool is_viewer(const struct account *account);
/// Whether the account is this user's, or a viewer of this user; the name is the first `length` bytes.
bool account_sees(const struct account *account, const char *user, size_t length);
/// The account's secret with this hash, or `NULL`.
struct secret *account_secret(const struct account *account, const uint8_t hash[HASH_SIZE]);

/// FNV-1a.
uint64_t hash_of(const char *text);
/// Takes tokens from a bucket that holds `burst` and gets `rate` a second; false without effect if it has too few.
bool bucket_take(struct bucket *bucket, double tokens, double rate, double burst, double now);
/// Takes tokens even if the bucket has too few; returns how many are missing from a full one.
double bucket_charge(struct bucket *bucket, double tokens, double rate, double now);
