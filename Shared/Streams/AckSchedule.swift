import Bus
import ServiceKit

/// When a stream acknowledges: after a number of batches or items, after a time, or when its device asks.
struct AckSchedule {
    /// Whether an acknowledgement follows the next commit.
    var isOwed = false
    /// Whether it reports too many items, and after how many seconds the device may continue.
    var isLimited = false
    var retryAfter: Int?
    /// Whether it answers a gap.
    var answersGap = false
    /// Whether this process has acknowledged anything.
    private var hasAcknowledged = false
    /// The number in the last acknowledgement, the batches accepted since, and when the first of them came.
    private var acknowledged: Int
    private var batches = 0
    private(set) var since: Moment?

    init(acknowledged: Int) {
        self.acknowledged = acknowledged
    }

    mutating func noteAccepted(asks: Bool, expected: Int, _ now: Moment) {
        batches += 1
        answersGap = false
        since = since ?? now
        if asks || batches >= StreamTimes.ackBatches || expected - acknowledged >= StreamTimes.ackItems {
            isOwed = true
        }
    }

    /// A device resends only after it has read the same number twice. So the answer to a gap is sent twice if the device may
    /// not have read its number yet.
    mutating func take(next: Int) -> (ack: Ack, copies: Int)? {
        guard isOwed else { return nil }
        let isNew = !hasAcknowledged || acknowledged != next
        let copies = answersGap && !isLimited && isNew ? 2 : 1
        (acknowledged, hasAcknowledged) = (next, true)
        (batches, since) = (0, nil)
        defer { (isOwed, isLimited, retryAfter, answersGap) = (false, false, nil, false) }
        return (isLimited ? .tooManyItems(next: next, retryAfter: retryAfter) : .next(next), copies)
    }

    /// After a failed commit, only what is on disk waits for an acknowledgement.
    mutating func discard(next: Int) {
        (isOwed, isLimited, answersGap) = (false, false, false)
        if next <= acknowledged { (batches, since) = (0, nil) }
    }
}
