// The limit of deliveries.
#include "deliveries.h"
#include <mosquitto.h>
#include <mosquitto_broker.h>

/// For each user that a viewer may view, it has a share more.
static const double RATE = 4000, RATE_SHARE = 100, BURST = 20000, BURST_SHARE = 400;
/// In deliveries, of which the broker makes 200,000 a second.
static const double UNREADABLE = 0.05, SUBSCRIPTION = 10, BYTE = 1.0 / 8192;

static double charge(struct account *account, double deliveries) {
    int users = account->users.count;
    double used = bucket_charge(&account->deliveries, deliveries, RATE + RATE_SHARE * users, now());
    return used / (BURST + BURST_SHARE * users);
}

double used_deliveries(struct account *account) { return charge(account, 0); }

void charge_delivery(struct account *account, size_t bytes) { charge(account, 1 + BYTE * (double)bytes); }

void charge_unreadable(struct account *account) { charge(account, UNREADABLE); }

void charge_subscription(struct account *account) { charge(account, SUBSCRIPTION); }

void close_indebted(struct account *account) {
    if (account->connections == NULL || used_deliveries(account) <= DEEP_IN_DEBT) return;
    account->counts[DELIVERIES]++;
    mosquitto_kick_client_by_clientid(mosquitto_client_id(account->connections->client), false);
}
