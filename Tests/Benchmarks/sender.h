// The sending side of one stream with the rules of the reference client (Shared/Client/Streams/ItemStream.swift): which
// items a batch holds, which batches ask for an acknowledgement, and when items go out again.

#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
    /// Items and batches in flight, and items of one batch.
    SENDER_ITEMS = 1000,
    SENDER_BATCHES = 20,
    SENDER_BATCH = 100,
    /// The most batches of one turn: a full window and a repeated one.
    SENDER_TURN = SENDER_BATCHES + 1,
};

struct sender {
    /// The number of items that exist.
    int64_t count;
    /// All items below are on the receiver's disk.
    int64_t acknowledged;
    /// All items below went out at least once.
    int64_t sent;
    /// Where each batch in flight ends; the first begins at `acknowledged`.
    int64_t ends[SENDER_BATCHES];
    int flights;
    /// The acknowledgement that last made the sender go back.
    int64_t went_back_for;
    /// When the first batch goes out again, and how often it went out; 0 with nothing in flight.
    double stall_due;
    int tries;
    /// Whether the next batches ask for an acknowledgement.
    bool has_gone_back;
    /// The oldest unacknowledged batch that asks: its end, and when it was due; no batch if `asked_at` is 0.
    int64_t asked_end;
    double asked_at;
};

struct batch {
    int64_t first;
    int count;
    bool asks_ack, is_repeated;
};

struct sender new_sender(void);
/// The number of the next item to send.
int64_t next_item(const struct sender *sender);
/// Writes the batches to send now to `batches` and returns how many.
int take_batches(struct sender *sender, double time, struct batch batches[SENDER_TURN]);
/// Returns whether the acknowledgement advanced.
bool take_ack(struct sender *sender, int64_t next, double time);
