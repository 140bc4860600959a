import Bus
import ServiceKit
import Workouts

/// A device's stream, with the names for its commits.
struct DeviceStream<Work: StreamWork> {
    let device: Device
    let ackTopic: String
    /// The prefix of its chunk keys.
    let chunkPrefix: String
    var stream: ItemStream<Work.Item>
    /// Whether an acknowledgement follows the next commit.
    var owesAck = false
    /// Whether it reports too many items, and after how many seconds the device may continue.
    var isLimited = false
    var retryAfter: Int?
    /// The number in the last acknowledgement, the batches accepted since, and when the first of them came.
    private var acknowledged: Int
    private var batches = 0
    private(set) var unacknowledgedSince: Moment?
    private(set) var skew: ClockSkew

    init(_ stream: ItemStream<Work.Item>, device: Device, of key: SessionKey, skew: Double?) {
        self.skew = ClockSkew(skew)
        self.device = device
        self.stream = stream
        ackTopic = Topic.session(key, Work.kind.ack(device)).name
        chunkPrefix = StreamStore.chunkPrefix(key, device)
        acknowledged = stream.next
    }

    /// Notes an accepted batch. Its acknowledgement may wait for more, unless the device asks for it. Returns whether
    /// the skew of the device's clock changed.
    mutating func accepted(_ batch: ItemBatch<Work.Item>, _ now: Moment) -> Bool {
        batches += 1
        unacknowledgedSince = unacknowledgedSince ?? now
        if batch.asksAck || batches >= StreamTimes.ackBatches
            || stream.expected - acknowledged >= StreamTimes.ackItems
        {
            owesAck = true
        }
        return batch.newest.map { skew.receive($0, now) } ?? false
    }

    /// Removes and returns the due acknowledgement.
    mutating func takeAck() -> Ack? {
        guard owesAck else { return nil }
        acknowledged = stream.next
        (batches, unacknowledgedSince) = (0, nil)
        defer { (owesAck, isLimited, retryAfter) = (false, false, nil) }
        return isLimited ? .tooManyItems(next: stream.next, retryAfter: retryAfter) : .next(stream.next)
    }

    /// After a failed commit, only what is on disk waits for an acknowledgement.
    mutating func discardPending() {
        stream.discardPending()
        (owesAck, isLimited) = (false, false)
        if stream.next <= acknowledged { (batches, unacknowledgedSince) = (0, nil) }
    }
}
