import Workouts

/// A stream as the store has it.
struct StoredStream<Item: StreamItem>: Sendable {
    /// The number of its items.
    private(set) var next = 0
    /// The time of item 0.
    private(set) var firstTime: Timestamp?
    /// The time of the last item that has one.
    private(set) var lastTime: Timestamp?
    /// Its last chunk, if that has room.
    private(set) var chunk = ItemChunk<Item>()

    init() {}

    /// The stream of all its readable chunks.
    init(_ chunks: ArraySlice<[UInt8]>) {
        let lastTime = chunks.reversed().lazy.compactMap { (try? ItemChunk<Item>(stored: $0))?.lastTime }.first
        guard let first = chunks.first, let last = chunks.last,
            let stream = try? StoredStream(first: first, last: last, number: chunks.count - 1, lastTime: lastTime)
        else { return }
        self = stream
    }

    /// - Parameters:
    ///   - first: its first chunk.
    ///   - last: its last chunk, which has this number. If no item of it has a time, the chunks before it must be read.
    ///   - lastTime: the time of the last item with one, if known.
    init(first: [UInt8], last: [UInt8], number: Int, lastTime: Timestamp? = nil) throws(CorruptChunk) {
        let tail = try ItemChunk<Item>(stored: last)
        next = number * ItemChunk<Item>.capacity + tail.count
        firstTime = try ItemChunk<Item>.items(first).first?.time
        self.lastTime = tail.lastTime ?? lastTime
        chunk = tail.isFull ? ItemChunk<Item>() : tail
    }

    /// The stream that a merge stores; `nil` if its first chunk is unreadable, or no item of the last chunk and the
    /// journal has a time.
    ///
    /// - Parameter first: its first chunk, if the store had one.
    init?(_ merge: StreamMerge<Item>, first: [UInt8]?) {
        guard let lastTime = merge.lastTime, let first = first ?? merge.chunks.first(where: { $0.number == 0 })?.bytes,
            let firstItem = try? ItemChunk<Item>.items(first).first
        else { return nil }
        (next, firstTime, self.lastTime, chunk) = (merge.next, firstItem.time, lastTime, merge.chunk)
    }

    /// Whether ``init(first:last:number:lastTime:)`` found the time of the last item.
    var knowsLastTime: Bool { lastTime != nil }
}

/// A stream from its last chunk and the entries of the journal, oldest first. The items' numbers decide where both overlap.
struct StreamMerge<Item: StreamItem> {
    private var number = 0
    /// The last chunk, if it has room.
    private(set) var chunk = ItemChunk<Item>()
    /// The time of the last item of the last chunk and the entries that has one.
    private(set) var lastTime: Timestamp?
    private var full: [(number: Int, bytes: [UInt8])] = []
    private var isChanged = false
    /// The entries that continue nothing or are unreadable. The devices send their items again.
    private(set) var ignored = 0

    /// - Parameter last: the last chunk with its number; `nil` without any.
    init(last: (number: Int, bytes: [UInt8])?) throws(CorruptChunk) {
        guard let last else { return }
        (number, chunk) = (last.number, try ItemChunk(stored: last.bytes))
        lastTime = chunk.lastTime
        startNext()
    }

    var next: Int { number * ItemChunk<Item>.capacity + chunk.count }

    /// The changed chunks.
    var chunks: [(number: Int, bytes: [UInt8])] { isChanged ? full + [(number, chunk.bytes)] : full }

    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    mutating func add(_ first: Int, _ entry: [UInt8]) {
        guard first <= next, let items = try? ItemChunk<Item>.items(entry: entry) else {
            ignored += 1
            return
        }
        for item in items.dropFirst(next - first) {
            chunk.append(item)
            lastTime = item.time ?? lastTime
            isChanged = true
            guard chunk.isFull else { continue }
            full.append((number, chunk.bytes))
            isChanged = false
            startNext()
        }
    }

    private mutating func startNext() {
        guard chunk.isFull else { return }
        number += 1
        chunk = ItemChunk()
    }
}
