import Bus
import ServiceKit
import Workouts

/// The outcome of a batch.
enum StreamOutcome: Equatable {
    /// These items are new.
    case taken
    /// These items are new. Metres that no one covers in the time since the previous item were dropped.
    case corrected(PayloadError)
    /// All items are on disk already: acknowledge again.
    case repeated
    /// The batch begins after the expected number: no item is accepted.
    case gap
    /// The stream begins with a different item than the stored one.
    case reused
    /// The session has too many devices.
    case full
    /// Its items exceed a limit.
    case limited(ItemLimit)
    /// The session is deleted: only acknowledge.
    case dropped
}

/// The limits of stored items. A device sends its items again after a time, but for those of a full session.
enum ItemLimit: CaseIterable {
    case session
    case hour
    case day

    /// Its name in metrics.
    var name: StaticString {
        switch self {
        case .session: "items_per_session"
        case .hour: "items_per_hour"
        case .day: "items_per_day"
        }
    }
}

/// A device's stream of one kind in a session: it accepts each number once and in order, and decides when to acknowledge.
///
/// Accepted items are pending until their commit. A failed commit drops them, and the device sends them again.
///
/// An object, like its session, so that no message copies it.
final class ItemStream<Item: StreamItem> where Item.Field: PayloadField {
    let device: Device
    /// The stream's name in the store.
    let name: String
    let ackTopic: String
    /// The next expected number; all items below are on disk.
    private(set) var next: Int
    /// All items below are in chunks on disk; the journal has the others. These belong to the last chunk.
    private(set) var saved: Int
    /// Items accepted since the last commit.
    private(set) var pending: [Item] = []
    /// The number of the next item to accept.
    var expected: Int { next + pending.count }
    /// The oldest item that only the journal has, and its commit in the ``JournalLedger``.
    var journaled: (first: Int, commit: Int)?
    /// Whether the next commit moves it from the journal into its chunk.
    var isDue = false
    private(set) var skew: ClockSkew
    private var acks: AckSchedule
    /// The time of item 0.
    private var firstTime: Timestamp?
    /// The time of the last item on disk that has one.
    private var lastTime: Timestamp?
    /// The last chunk, and the one after the next commit.
    private var chunk: ItemChunk<Item>
    private var staged = ItemChunk<Item>()
    private var stagedSaved = 0
    /// The time of the last answer to a gap.
    private var answeredGapAt: Moment?

    /// - Parameter skew: the seconds by which the device's clock is known to be ahead.
    init(
        _ stored: StoredStream<Item> = StoredStream(), of key: SessionKey, _ kind: StreamName.Kind, from device: Device,
        skew: Double? = nil
    ) {
        (next, saved, firstTime, lastTime, chunk) = (
            stored.next, stored.next, stored.firstTime, stored.lastTime, stored.chunk
        )
        acks = AckSchedule(acknowledged: stored.next)
        self.skew = ClockSkew(skew)
        self.device = device
        name = StreamStore.name(key, device)
        ackTopic = Topic.session(key, kind.ack(device)).name
    }

    /// Receives a batch. Returns `nil` if it has more new items than the session has room for.
    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    func receive(_ batch: ItemBatch<Item>, room: Int = StreamLimits.session) -> StreamOutcome? {
        if batch.first == 0, expected > 0, let firstTime, batch.items[0].time != firstTime { return .reused }
        guard batch.first <= expected else { return .gap }
        let new = batch.items.dropFirst(expected - batch.first)
        guard !new.isEmpty else { return .repeated }
        guard new.count <= room else { return nil }
        if expected == 0 { firstTime = new.first?.time }
        pending += new
        return dropImpossibleDistances(from: pending.count - new.count).map { .corrected($0) } ?? .taken
    }

    /// Drops the distance of pending items that implies more than 60 m/s since the last item before it with a time, but
    /// over at least 15 s: a sensor's metres may arrive at once after seconds without any. The first item with a time has
    /// none before it.
    ///
    /// It depends on the items and their order alone, so that every arrival stores the same.
    private func dropImpossibleDistances(from start: Int) -> PayloadError? {
        guard let field = Item.Field.distance else { return nil }
        var first: PayloadError?
        for index in start..<pending.count {
            guard let meters = pending[index][field], meters > StreamLimits.speed, let time = pending[index].time,
                let last = pending[..<index].last(where: { $0.time != nil })?.time ?? lastTime
            else { continue }
            let seconds = time.seconds(since: last)
            guard meters > StreamLimits.speed * max(SourceOrder.freshness, seconds) else { continue }
            pending[index][field] = nil
            if first == nil {
                first = PayloadError(
                    kind: .flawedItems,
                    text: "item \(next + index): \(field.key) is more than \(Int(StreamLimits.speed)) m/s: "
                        + "\(meters) m in \(seconds) s since the previous item; it was dropped",
                    field: field.key, value: "\(meters)", item: next + index)
            }
        }
        return first
    }

    /// Whether to answer a gap or too many items now; answers have a rate limit.
    private func answersGap(_ now: Moment) -> Bool {
        guard answeredGapAt.map({ now.seconds(since: $0) >= StreamTimes.gap }) ?? true else {
            return false
        }
        answeredGapAt = now
        return true
    }

    /// What the next commit writes: the full chunks, and the pending items after them as an entry of the journal.
    ///
    /// - Parameter saves: whether it writes the last chunk instead, with the items that only the journal has.
    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    func stage(saves: Bool = false) -> StagedItems {
        var items = StagedItems()
        staged = chunk.copy(items: pending.count)
        stagedSaved = saved
        var first = next
        var mark = staged.mark
        for (index, item) in pending.enumerated() {
            staged.append(item)
            guard staged.isFull else { continue }
            items.chunks.append(((next + index) / ItemChunk<Item>.capacity, staged.bytes))
            staged = ItemChunk<Item>()
            first = next + index + 1
            (stagedSaved, mark) = (first, staged.mark)
        }
        if saves, stagedSaved < expected {
            items.chunks.append((expected / ItemChunk<Item>.capacity, staged.bytes))
            stagedSaved = expected
        } else if first < expected {
            items.entry = (first, staged.entry(since: mark))
        }
        return items
    }

    /// The staged items are on disk.
    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    func committed() {
        chunk = staged
        saved = stagedSaved
        lastTime = pending.last { $0.time != nil }?.time ?? lastTime
        next += pending.count
        pending = []
        staged = ItemChunk<Item>()
    }

    /// Drops the pending items. The stream expects them again.
    func discardPending() {
        if next == 0 { firstTime = nil }
        pending = []
        staged = ItemChunk<Item>()
        isDue = false
        acks.discard(next: next)
    }

    // MARK: Acknowledgements

    /// Notes an accepted batch. Its acknowledgement may wait for more, unless the device asks for it. Returns whether
    /// the skew of the device's clock changed.
    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    func noteAccepted(_ batch: ItemBatch<Item>, _ now: Moment) -> Bool {
        acks.noteAccepted(asks: batch.asksAck, expected: expected, now)
        return batch.newest.map { skew.receive($0, now) } ?? false
    }

    /// The next commit is followed by an acknowledgement.
    func acknowledge() { acks.isOwed = true }

    /// Answers a gap, unless it answered one just now.
    func answerGap(_ now: Moment) {
        guard answersGap(now) else { return }
        (acks.isOwed, acks.answersGap) = (true, true)
    }

    /// Reports too many items, unless it answered just now.
    ///
    /// - Parameter retryAfter: the seconds after which the device may continue; `nil` if never.
    func refuse(retryAfter: Int?, _ now: Moment) {
        guard answersGap(now) else { return }
        (acks.isOwed, acks.isLimited, acks.retryAfter) = (true, true, retryAfter)
    }

    /// When the oldest accepted batch without an acknowledgement came.
    var unacknowledgedSince: Moment? { acks.since }

    /// Removes and returns the due acknowledgement, and how often it is sent.
    func takeAck() -> (ack: Ack, copies: Int)? { acks.take(next: next) }
}

/// The part of a stream that a commit writes.
struct StagedItems {
    /// Chunks with their numbers.
    var chunks: [(number: Int, bytes: [UInt8])] = []
    /// An entry of the journal with the number of its first item.
    var entry: (first: Int, bytes: [UInt8])?
}

extension ItemStream {
    /// The last chunk with its number, if the journal has items of it that are in no chunk on disk.
    var unsaved: (number: Int, bytes: [UInt8])? {
        saved < next ? (saved / ItemChunk<Item>.capacity, chunk.bytes) : nil
    }

    /// Continues from the store, which can read fewer items than the stream has.
    func restart(from stored: StoredStream<Item>) {
        (next, saved, firstTime, lastTime, chunk) = (
            stored.next, stored.next, stored.firstTime, stored.lastTime, stored.chunk
        )
        (pending, staged, stagedSaved, answeredGapAt) = ([], ItemChunk(), 0, nil)
    }
}

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
