// The sending side of one stream: what may be sent, what is in flight, what is on the server's disk.

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /// Items, and batches, that may be sent and not yet acknowledged: the limits of every device.
    ITEM_WINDOW = 1000,
    BATCH_WINDOW = 20,
};

struct stream {
    /// Items there are to send.
    int64_t due;
    /// The next item to send; below it everything is under way or acknowledged.
    int64_t next;
    /// Everything below is on the receiver's disk.
    int64_t acknowledged;
    /// Everything below has been seen in `metrics`.
    int64_t shown;
    /// The highest `next` there was: what lies below is sent again.
    int64_t sent;
    /// The acknowledgement that it went back for last.
    int64_t went_back_for;
    /// When something last went out with nothing under way, or an acknowledgement moved.
    double moved_at;
    /// When each batch first went out, by its place in the ring: for its acknowledgement and for its metrics.
    double sent_at[2 * BATCH_WINDOW];
    /// It stands in the queue of those that may send.
    bool is_queued;
};

/// Whether the window has room for a batch of this size.
bool may_send(const struct stream *stream, int batch);

/// The kind of a stream's items.
enum kind { SAMPLES, LOCATIONS };

/// Writes a batch from `first` on, without a closing zero, and returns its length. Item 0 has the start time, each other
/// item is a second later.
size_t write_batch(char *text, enum kind kind, int64_t first, int count, int64_t start_milliseconds);
/// The maximum length of a batch with this many items.
size_t batch_size(int count);

/// The `state` of a running session that began at `start`.
size_t write_state(char *text, size_t size, int number, double start);
size_t write_topic(char *text, size_t size, int number, const char *rest);
/// The number of the session in a topic, and the levels after it; -1 for another topic.
int read_topic(const char *topic, size_t length, const char **rest);
