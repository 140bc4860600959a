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
enum ItemLimit {
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

/// The receiving end of a device's stream. It accepts each number once and in order.
///
/// Accepted items are pending until their commit. A failed commit drops them, and the device sends them again.
struct ItemStream<Item: StreamItem> where Item.Field: PayloadField {
    /// The next expected number; all items below are on disk.
    private(set) var next = 0
    /// All items below are in chunks on disk; the journal has the others. These belong to the last chunk.
    private(set) var saved = 0
    /// Items accepted since the last commit.
    private(set) var pending: [Item] = []
    /// The number of the next item to accept.
    var expected: Int { next + pending.count }
    /// The time of item 0.
    private var firstTime: Timestamp?
    /// The time of the last item on disk that has one.
    private var lastTime: Timestamp?
    /// The last chunk, and the one after the next commit.
    private var chunk = ItemChunk<Item>()
    private var staged = ItemChunk<Item>()
    private var stagedSaved = 0
    /// The time of the last answer to a gap.
    private var answeredGapAt: Moment?

    /// Receives a batch. Returns `nil` if it has more new items than the session has room for.
    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    mutating func receive(_ batch: ItemBatch<Item>, room: Int = StreamLimits.session) -> StreamOutcome? {
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
    private mutating func dropImpossibleDistances(from start: Int) -> PayloadError? {
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
    mutating func answersGap(_ now: Moment) -> Bool {
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
    mutating func stage(saves: Bool = false) -> StagedItems {
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
    mutating func committed() {
        chunk = staged
        saved = stagedSaved
        lastTime = pending.last { $0.time != nil }?.time ?? lastTime
        next += pending.count
        pending = []
        staged = ItemChunk<Item>()
    }

    /// Drops the pending items. The stream expects them again.
    mutating func discardPending() {
        if next == 0 { firstTime = nil }
        pending = []
        staged = ItemChunk<Item>()
    }
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

    /// Continues a stream from all its readable chunks.
    init(_ chunks: ArraySlice<[UInt8]>) {
        self.init()
        let lastTime = chunks.reversed().lazy.compactMap { (try? ItemChunk<Item>(stored: $0))?.lastTime }.first
        guard let first = chunks.first, let last = chunks.last,
            let stream = try? ItemStream(first: first, last: last, number: chunks.count - 1, lastTime: lastTime)
        else { return }
        self = stream
    }

    /// Continues a stream from the store.
    ///
    /// - Parameters:
    ///   - first: its first chunk.
    ///   - last: its last chunk, which has this number. If no item of it has a time, the chunks before it must be read.
    ///   - lastTime: the time of the last item with one, if known.
    init(first: [UInt8], last: [UInt8], number: Int, lastTime: Timestamp? = nil) throws(CorruptChunk) {
        let tail = try ItemChunk<Item>(stored: last)
        next = number * ItemChunk<Item>.capacity + tail.count
        saved = next
        firstTime = try ItemChunk<Item>.items(first).first?.time
        self.lastTime = tail.lastTime ?? lastTime
        chunk = tail.isFull ? ItemChunk<Item>() : tail
    }

    /// Whether ``init(first:last:number:lastTime:)`` found the time of the last item.
    var knowsLastTime: Bool { lastTime != nil }
}
