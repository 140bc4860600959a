import Bus
import Workouts

/// What became of a batch.
enum StreamOutcome: Equatable {
    /// These items are new.
    case taken
    /// All of it is there already: acknowledged again.
    case repeated
    /// It begins beyond what is expected: nothing is taken.
    case gap
    /// The stream begins with another item than the stored one.
    case reused
    /// More items than a stream may have.
    case full
    /// Its session was deleted: acknowledged, and nothing else.
    case dropped
}

/// The receiving end of one device's stream: takes each number once and in order.
///
/// What is taken stays pending until its commit; a commit that fails lets go of it, and the device sends it again.
struct ItemStream<Item: StreamItem> where Item.Field: PayloadField {
    /// The number expected next; everything below is on disk.
    private(set) var next = 0
    /// Items taken since the last commit.
    private(set) var pending: [Item] = []
    /// The time of item 0.
    private var firstTime: Timestamp?
    /// The last chunk as it is on disk, and as it will be.
    private var chunk = ItemChunk<Item>()
    private var staged = ItemChunk<Item>()
    /// When a gap was last answered.
    private var answeredGapAt: Timestamp?

    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    mutating func receive(_ batch: ItemBatch<Item>) -> StreamOutcome {
        let expected = next + pending.count
        if batch.first == 0, expected > 0, let firstTime, batch.items[0].time != firstTime { return .reused }
        guard batch.first <= expected else { return .gap }
        let new = batch.items.dropFirst(expected - batch.first)
        guard !new.isEmpty else { return .repeated }
        guard expected + new.count <= StreamLimits.items else { return .full }
        if expected == 0 { firstTime = new.first?.time }
        pending += new
        return .taken
    }

    /// Whether a gap is answered now: not every one is.
    mutating func answersGap(_ now: Timestamp) -> Bool {
        guard answeredGapAt.map({ now.seconds(since: $0) >= StreamTimes.gap }) ?? true else {
            return false
        }
        answeredGapAt = now
        return true
    }

    /// The chunks that change when the pending items are written, with their numbers.
    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    mutating func stage() -> [(number: Int, bytes: [UInt8])] {
        var changed: [(number: Int, bytes: [UInt8])] = []
        staged = chunk
        for (index, item) in pending.enumerated() {
            staged.append(item)
            let isLast = index == pending.count - 1
            if staged.isFull || isLast {
                changed.append(((next + index) / ItemChunk<Item>.capacity, staged.bytes))
            }
            if staged.isFull { staged = ItemChunk<Item>() }
        }
        return changed
    }

    /// What was staged is on disk.
    mutating func committed() {
        chunk = staged
        next += pending.count
        pending = []
        staged = ItemChunk<Item>()
    }

    /// What was taken is not on disk and is expected again.
    mutating func discardPending() {
        if next == 0 { firstTime = nil }
        pending = []
        staged = ItemChunk<Item>()
    }
}

extension ItemStream {
    /// Goes on with a stream from the store.
    ///
    /// - Parameters:
    ///   - first: its first chunk.
    ///   - last: its last chunk, which has this number.
    init(first: [UInt8], last: [UInt8], number: Int) throws(CorruptChunk) {
        let tail = try ItemChunk<Item>(stored: last)
        next = number * ItemChunk<Item>.capacity + tail.count
        firstTime = try ItemChunk<Item>.items(first).first?.time
        chunk = tail.isFull ? ItemChunk<Item>() : tail
    }
}
