import Bus
import ServiceKit
import Workouts

/// A device's stream, with the names for its commits.
///
/// An object, like its session, so that no message copies it.
final class DeviceStream<Item: StreamItem> where Item.Field: PayloadField {
    let device: Device
    let ackTopic: String
    /// The stream's name in the store.
    let name: String
    var stream: ItemStream<Item>
    /// The oldest item that only the journal has, and its commit in the ``JournalLedger``.
    var journaled: (first: Int, commit: Int)?
    /// Whether the next commit moves it from the journal into its chunk.
    var isDue = false
    /// Whether an acknowledgement follows the next commit.
    var owesAck = false
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
    private(set) var unacknowledgedSince: Moment?
    private(set) var skew: ClockSkew

    init(_ stream: ItemStream<Item>, device: Device, of key: SessionKey, _ kind: StreamName.Kind, skew: Double?) {
        self.skew = ClockSkew(skew)
        self.device = device
        self.stream = stream
        ackTopic = Topic.session(key, kind.ack(device)).name
        name = StreamStore.name(key, device)
        acknowledged = stream.next
    }

    /// Notes an accepted batch. Its acknowledgement may wait for more, unless the device asks for it. Returns whether
    /// the skew of the device's clock changed.
    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    func accepted(_ batch: ItemBatch<Item>, _ now: Moment) -> Bool {
        batches += 1
        answersGap = false
        unacknowledgedSince = unacknowledgedSince ?? now
        if batch.asksAck || batches >= StreamTimes.ackBatches
            || stream.expected - acknowledged >= StreamTimes.ackItems
        {
            owesAck = true
        }
        return batch.newest.map { skew.receive($0, now) } ?? false
    }

    /// Removes and returns the due acknowledgement, and how often it is sent. A device resends only after it has read
    /// the same number twice. So the answer to a gap is sent twice if the device may not have read its number yet.
    func takeAck() -> (ack: Ack, copies: Int)? {
        guard owesAck else { return nil }
        let isNew = !hasAcknowledged || acknowledged != stream.next
        let copies = answersGap && !isLimited && isNew ? 2 : 1
        (acknowledged, hasAcknowledged) = (stream.next, true)
        (batches, unacknowledgedSince) = (0, nil)
        defer { (owesAck, isLimited, retryAfter, answersGap) = (false, false, nil, false) }
        return (isLimited ? .tooManyItems(next: stream.next, retryAfter: retryAfter) : .next(stream.next), copies)
    }

    /// After a failed commit, only what is on disk waits for an acknowledgement.
    func discardPending() {
        stream.discardPending()
        isDue = false
        (owesAck, isLimited, answersGap) = (false, false, false)
        if stream.next <= acknowledged { (batches, unacknowledgedSince) = (0, nil) }
    }
}
