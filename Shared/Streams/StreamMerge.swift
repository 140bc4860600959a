import Workouts

/// A stream from its last chunk and the entries of the journal, oldest first. The items' numbers decide where both overlap.
struct StreamMerge<Item: StreamItem> {
    private var number = 0
    private var chunk = ItemChunk<Item>()
    private var full: [(number: Int, bytes: [UInt8])] = []
    private var isChanged = false
    /// The entries that continue nothing or are unreadable. The devices send their items again.
    private(set) var ignored = 0

    /// - Parameter last: the last chunk with its number; `nil` without any.
    init(last: (number: Int, bytes: [UInt8])?) throws(CorruptChunk) {
        guard let last else { return }
        (number, chunk) = (last.number, try ItemChunk(stored: last.bytes))
        startNext()
    }

    var next: Int { number * ItemChunk<Item>.capacity + chunk.count }

    /// The changed chunks.
    var chunks: [(number: Int, bytes: [UInt8])] { isChanged ? full + [(number, chunk.bytes)] : full }

    mutating func add(_ first: Int, _ entry: [UInt8]) {
        guard first <= next, let items = try? ItemChunk<Item>.items(entry: entry) else {
            ignored += 1
            return
        }
        for item in items.dropFirst(next - first) {
            chunk.append(item)
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
