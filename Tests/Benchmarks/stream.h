// The sending side of one stream: sent items, items in flight and items on the server's disk.

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /// The limits of every device: items and batches in flight.
    ITEM_WINDOW = 1000,
    BATCH_WINDOW = 20,
};

struct stream {
    /// The number of items to send.
    int64_t due;
    /// The next item to send. All items below are in flight or acknowledged.
    int64_t next;
    /// All items below are on the receiver's disk.
    int64_t acknowledged;
    /// All items below are in received `metrics`.
    int64_t shown;
    /// The highest `next` so far. Items below it are sent again.
    int64_t sent;
    /// The last acknowledgement that moved `next` back.
    int64_t went_back_for;
    /// The time of the last advance of the acknowledgement, or of a batch with no other in flight.
    double moved_at;
    /// The time at which each batch was first sent, by its place in the ring.
    double sent_at[2 * BATCH_WINDOW];
    /// Whether the stream is in the queue of senders.
    bool is_queued;
};

/// Whether the window has room for a batch of this size.
bool may_send(const struct stream *stream, int batch);

/// The kind of a stream's items.
enum kind { SAMPLES, LOCATIONS };

/// Writes a batch from `first` on, without a closing zero, and returns its length. Item 0 has the start time, each other
/// item is a second later.
size_t write_batch(char *text, enum kind kind, int64_t first, int count, int64_t start_milliseconds, bool asks_ack);
/// Of a sample. It returns after 101 items.
int heart_rate(int64_t number);
/// The maximum length of a batch with this many items.
size_t batch_size(int count);

/// The `state` of a running session that began at `start`.
size_t write_state(char *text, size_t size, int number, double start);
size_t write_topic(char *text, size_t size, int number, const char *rest);
/// The number of the session in a topic, and the levels after it; -1 for another topic.
int read_topic(const char *topic, size_t length, const char **rest);
