// Accounts and their passwords, read from files that compose/user replaces by rename(2).
#define _GNU_SOURCE
#include "accounts.h"
#include <mosquitto.h>
#include <mosquitto_broker.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TABLE = 8192, FAILURES = 4096 };

static struct account *table[TABLE];
static const char *paths[2];
static struct stat seen[2];
static uint8_t proof_key[32];
/// Failed logins by address and account. One address cannot lock an account out from elsewhere.
static struct bucket failures[FAILURES];

uint64_t hash_of(const char *text) {
    uint64_t hash = 14695981039346656037U;
    while (*text) hash = (hash ^ (uint8_t)*text++) * 1099511628211U;
    return hash;
}

double bucket_charge(struct bucket *bucket, double tokens, double rate, double now) {
    double used = bucket->used - (now - bucket->at) * rate;
    bucket->used = (used > 0 ? used : 0) + tokens;
    bucket->at = now;
    return bucket->used;
}

bool bucket_take(struct bucket *bucket, double tokens, double rate, double burst, double now) {
    if (bucket_charge(bucket, 0, rate, now) + tokens > burst) return false;
    bucket->used += tokens;
    return true;
}

struct account *account_named(const char *name) {
    struct account *account = table[hash_of(name) % TABLE];
    while (account && strcmp(account->name, name)) account = account->next;
    return account;
}

void accounts_visit(void (*visit)(struct account *)) {
    for (int i = 0; i < TABLE; i++)
        for (struct account *account = table[i]; account; account = account->next) visit(account);
}

static void free_secrets(struct secret **secrets) {
    while (*secrets) {
        struct secret *secret = *secrets;
        *secrets = secret->next;
        free(secret);
    }
}

void accounts_sweep(void (*remove)(struct account *)) {
    for (int i = 0; i < TABLE; i++) {
        for (struct account **at = &table[i]; *at;) {
            struct account *account = *at;
            if (account->secrets || account->connections) {
                at = &account->next;
            } else {
                remove(account);
                *at = account->next;
                free(account->sessions);
                free(account->web_logins);
                free(account->users.names);
                free(account);
            }
        }
    }
}

static int decode(const char *text, uint8_t *bytes, size_t size) {
    size_t length = strlen(text);
    if (length == 0 || length % 4 || length / 4 * 3 > size) return -1;
    int count = EVP_DecodeBlock(bytes, (const uint8_t *)text, (int)length);
    return count < 0 ? -1 : count - (text[length - 1] == '=') - (text[length - 2] == '=');
}

/// Reads `NAME:$7$ITERATIONS$SALT$HASH`, or `NAME/DEVICE:…` for the password of one device.
static bool read_password(char *line) {
    struct secret secret = {0};
    char name[NAME_SIZE], salt[90], hash[90];
    int end = 0;
    size_t length = strcspn(line, "/:"), device = strcspn(line + length, ":");
    if (length == 0 || length >= NAME_SIZE || device > NAME_SIZE || strchr(line, ':') == NULL) return false;
    memcpy(name, line, length);
    name[length] = 0;
    if (device > 0) memcpy(secret.device, line + length + 1, device - 1);
    sscanf(strchr(line, ':'), ":$7$%9d$%89[^$]$%89[A-Za-z0-9+/=]%n", &secret.iterations, salt, hash, &end);
    if (end == 0 || strchr(line, ':')[end] != '\n' || secret.iterations < 1) return false;
    secret.salt_length = decode(salt, secret.salt, sizeof secret.salt);
    if (secret.salt_length < 1 || decode(hash, secret.hash, sizeof secret.hash) != HASH_SIZE) return false;
    struct account *account = account_named(name);
    struct secret *copy = malloc(sizeof *copy);
    if (account == NULL && (account = calloc(1, sizeof *account))) {
        struct account **at = &table[hash_of(name) % TABLE];
        strcpy(account->name, name);
        account->next = *at;
        *at = account;
    }
    if (account == NULL || copy == NULL) return free(copy), false;
    *copy = secret;
    copy->next = account->new_secrets;
    account->new_secrets = copy;
    return true;
}

bool is_name(const char *text) {
    for (; *text; text++)
        if ((uint8_t)*text <= ' ' || *text == 127 || strchr("\"\\/+#", *text)) return false;
    return true;
}

/// Lines of the viewers' file beyond what one viewer may view.
static int ignored;

/// Reads `NAME USER`; a viewer of several users has several lines.
static bool read_viewer(char *line) {
    char name[NAME_SIZE], user[NAME_SIZE];
    int end = 0;
    if (sscanf(line, "%64s %64s %n", name, user, &end) != 2 || line[end] || !is_name(user)) return false;
    struct account *account = account_named(name);
    if (account == NULL || strcmp(name, user) == 0) return true;
    struct users *users = &account->new_users;
    if (users->names == NULL && !(users->names = malloc(USER_COUNT * sizeof *users->names))) return false;
    int at = 0;
    while (at < users->count && strcmp(users->names[at], user) < 0) at++;
    if (at < users->count && strcmp(users->names[at], user) == 0) return true;
    if (users->count == USER_COUNT) {
        ignored++;
        return true;
    }
    memmove(users->names + at + 1, users->names + at, (size_t)(users->count - at) * sizeof *users->names);
    strcpy(users->names[at], user);
    users->count++;
    return true;
}

bool is_viewer(const struct account *account) { return account->users.count > 0; }

bool account_sees(const struct account *account, const char *user, size_t length) {
    int first = 0, end = account->users.count;
    if (end == 0) return strncmp(account->name, user, length) == 0 && account->name[length] == 0;
    while (first < end) {
        int middle = (first + end) / 2;
        int order = strncmp(account->users.names[middle], user, length);
        if (order == 0) order = account->users.names[middle][length] != 0;
        if (order == 0) return true;
        if (order < 0) first = middle + 1;
        else end = middle;
    }
    return false;
}

static bool read_lines(const char *path, bool (*read)(char *)) {
    FILE *file = fopen(path, "re");
    bool is_valid = file != NULL;
    char *line = NULL;
    size_t size = 0;
    while (is_valid && getline(&line, &size, file) > 0) is_valid = read(line);
    if (file) is_valid = !ferror(file) && fclose(file) == 0 && is_valid;
    free(line);
    return is_valid;
}

static void forget_new(struct account *account) {
    free_secrets(&account->new_secrets);
    free(account->new_users.names);
    account->new_users = (struct users){0};
}

static bool are_new_users_same(const struct account *account) {
    const struct users *new = &account->new_users, *old = &account->users;
    bool is_same = new->count == old->count;
    for (int i = 0; is_same && i < new->count; i++) is_same = strcmp(new->names[i], old->names[i]) == 0;
    return is_same;
}

static bool are_new_secrets_same(const struct account *account) {
    int count = 0;
    for (const struct secret *old = account->secrets; old; old = old->next) count++;
    for (const struct secret *new = account->new_secrets; new; new = new->next, count--)
        if (account_secret(account, new->hash) == NULL) return false;
    return count == 0;
}

static void take_new(struct account *account) {
    if (!are_new_users_same(account) || !are_new_secrets_same(account)) account->is_changed = true;
    for (struct secret *new = account->new_secrets; new; new = new->next) {
        const struct secret *old = account_secret(account, new->hash);
        if (old == NULL) continue;
        memcpy(new->proof, old->proof, sizeof new->proof);
        new->is_proven = old->is_proven;
        new->used_at = old->used_at;
    }
    free_secrets(&account->secrets);
    account->secrets = account->new_secrets;
    account->new_secrets = NULL;
    free(account->users.names);
    account->users = account->new_users;
    account->new_users = (struct users){0};
}

static bool is_changed(void) {
    bool is_changed = false;
    for (int i = 0; i < 2; i++) {
        struct stat now = {0};
        if (stat(paths[i], &now) != 0) now.st_ino = 0;
        is_changed |= now.st_ino != seen[i].st_ino || now.st_size != seen[i].st_size ||
                      memcmp(&now.st_ctim, &seen[i].st_ctim, sizeof now.st_ctim);
        seen[i] = now;
    }
    return is_changed;
}

static bool read_accounts(void) {
    // A viewer is in its file before it has a password, and longer: both files must be of one moment.
    do {
        accounts_visit(forget_new);
        if (!read_lines(paths[0], read_password)) return accounts_visit(forget_new), false;
        ignored = 0;
        if (!read_lines(paths[1], read_viewer)) return accounts_visit(forget_new), false;
    } while (is_changed());
    accounts_visit(take_new);
    if (ignored)
        mosquitto_log_printf(
            MOSQ_LOG_ERR, "Error: %d lines in %s ignored; a viewer may have at most %d users", ignored, paths[1],
            USER_COUNT);
    return true;
}

bool accounts_open(const char *passwords, const char *viewers) {
    paths[0] = passwords;
    paths[1] = viewers;
    is_changed();
    return RAND_bytes(proof_key, sizeof proof_key) == 1 && read_accounts();
}

bool accounts_refresh(void) {
    if (!is_changed()) return false;
    bool is_valid = read_accounts();
    if (!is_valid) mosquitto_log_printf(MOSQ_LOG_ERR, "Error: cannot read the accounts; the previous ones stay valid");
    return is_valid;
}

struct secret *account_secret(const struct account *account, const uint8_t hash[HASH_SIZE]) {
    struct secret *secret = account->secrets;
    while (secret && memcmp(secret->hash, hash, HASH_SIZE)) secret = secret->next;
    return secret;
}

struct secret *account_verify(
    struct account *account, const char *password, const char *address, double now, bool *is_limited) {
    uint8_t proof[32], hash[HASH_SIZE];
    int length = (int)strlen(password);
    struct secret *secret;
    if (!HMAC(EVP_sha256(), proof_key, sizeof proof_key, (const uint8_t *)password, (size_t)length, proof, NULL))
        return NULL;
    for (secret = account->secrets; secret; secret = secret->next)
        if (secret->is_proven && CRYPTO_memcmp(secret->proof, proof, sizeof proof) == 0) return secret;
    // From here on each secret costs 0.1 ms of the broker's only thread. Failures are limited, successes are free. The
    // limit exceeds what compose/haproxy.cfg lets through from one address: all its clients share the proxy's address.
    struct bucket *bucket = &failures[(hash_of(account->name) ^ hash_of(address ? address : "")) % FAILURES];
    int hashed = 0;
    for (secret = account->secrets; secret; secret = secret->next) {
        if (secret->is_proven) continue;
        if (!bucket_take(bucket, 1, 500, 500, now)) {
            account->counts[LOGINS]++;
            *is_limited = true;
            return NULL;
        }
        hashed++;
        PKCS5_PBKDF2_HMAC(
            password, length, secret->salt, secret->salt_length, secret->iterations, EVP_sha512(), HASH_SIZE, hash);
        if (CRYPTO_memcmp(secret->hash, hash, HASH_SIZE)) continue;
        memcpy(secret->proof, proof, sizeof proof);
        secret->is_proven = true;
        bucket->used -= hashed;
        return secret;
    }
    return NULL;
}
