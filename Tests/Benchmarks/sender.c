#include "sender.h"
#include <string.h>

/// Seconds until the first batch goes out again, doubling.
static const double shortest_stall = 5, longest_stall = 60;

struct sender new_sender(void) {
    // The first batch of a connection asks for an acknowledgement.
    return (struct sender){.went_back_for = -1, .has_gone_back = true};
}

int64_t next_item(const struct sender *sender) {
    return sender->flights == 0 ? sender->acknowledged : sender->ends[sender->flights - 1];
}

static void wait_for_stall(struct sender *sender, double time) {
    double delay = shortest_stall;
    for (int try = 1; try < sender->tries && delay < longest_stall; try++) delay *= 2;
    sender->stall_due = time + (delay < longest_stall ? delay : longest_stall);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

int take_batches(struct sender *sender, double time, struct batch batches[SENDER_TURN]) {
    int taken = 0;
    if (sender->flights > 0 && sender->stall_due <= time) {
        int count = (int)(sender->ends[0] - sender->acknowledged);
        batches[taken++] = (struct batch){sender->acknowledged, count, true, true};
        sender->tries++;
        wait_for_stall(sender, time);
    }
    while (sender->flights < SENDER_BATCHES) {
        int64_t first = next_item(sender), window = SENDER_ITEMS - (first - sender->acknowledged);
        int64_t end = smaller(sender->count, first + smaller(SENDER_BATCH, window));
        if (first >= end) break;
        sender->ends[sender->flights++] = end;
        bool is_half_full = 2 * (end - sender->acknowledged) >= SENDER_ITEMS || 2 * sender->flights >= SENDER_BATCHES;
        batches[taken++] = (struct batch){first, (int)(end - first), is_half_full, first < sender->sent};
        if (end > sender->sent) sender->sent = end;
    }
    if (sender->has_gone_back && taken > 0) {
        batches[taken - 1].asks_ack = true;
        sender->has_gone_back = false;
    }
    if (sender->tries == 0 && sender->flights > 0) {
        sender->tries = 1;
        wait_for_stall(sender, time);
    }
    return taken;
}

static void go_back(struct sender *sender) {
    sender->flights = 0;
    sender->went_back_for = sender->acknowledged;
    sender->has_gone_back = true;
}

bool take_ack(struct sender *sender, int64_t next, double time) {
    if (next < sender->acknowledged || next > sender->count) return false;
    if (next == sender->acknowledged) {
        // A repeated acknowledgement answers a gap.
        if (sender->flights > 0 && sender->went_back_for != next) {
            go_back(sender);
            wait_for_stall(sender, time);
        }
        return false;
    }
    int done = 0;
    while (done < sender->flights && sender->ends[done] <= next) done++;
    sender->flights -= done;
    memmove(sender->ends, sender->ends + done, (size_t)sender->flights * sizeof *sender->ends);
    sender->acknowledged = next;
    bool has_stalled = sender->tries > 1;
    sender->tries = sender->flights > 0 ? 1 : 0;
    wait_for_stall(sender, time);
    // After a stall only the first batch was repeated: the receiver dropped the later ones.
    if (has_stalled && sender->flights > 0) go_back(sender);
    return true;
}
