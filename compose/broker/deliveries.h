#pragma once
#include "connections.h"

// What an account makes the broker deliver to its own connections. A message costs a delivery for each filter that it
// matches, on each connection.

/// Parts of its burst that an account has used. Above them, in this order: it receives nothing more that users whom it views
/// send at any rate they like; its messages and subscriptions are refused; its newest connections close; nothing is
/// delivered to it.
static const double OTHERS_SHARE = 0.5, IN_DEBT = 1, DEEP_IN_DEBT = 1.5, LAST_DELIVERY = 2;

double used_deliveries(struct account *account);
void charge_delivery(struct account *account, size_t bytes);
/// Charges a message that matched a filter and that the account may not read.
void charge_unreadable(struct account *account);
/// Charges a subscription, apart from the retained messages that it delivers.
void charge_subscription(struct account *account);
/// Closes the account's newest connection if it is deep in debt.
void close_indebted(struct account *account);
