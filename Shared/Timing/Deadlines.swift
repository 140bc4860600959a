/// The next due time of each key: the earliest time scheduled for it.
///
/// A binary heap. Scheduling a later time changes nothing: the caller finds the key too early and schedules it again.
package struct Deadlines<Key: Hashable & Comparable, Time: Comparable> {
    private struct Item {
        let time: Time
        let key: Key

        static func < (left: Item, right: Item) -> Bool { (left.time, left.key) < (right.time, right.key) }
    }

    private var heap: [Item] = []
    /// The scheduled time of each key; an item of the heap with another time is outdated.
    private var times: [Key: Time] = [:]

    package init() {}

    /// Items in the heap, with the outdated ones.
    package var count: Int { heap.count }

    package mutating func schedule(_ key: Key, at time: Time) {
        if let scheduled = times[key], scheduled <= time { return }
        times[key] = time
        heap.append(Item(time: time, key: key))
        var index = heap.count - 1
        while index > 0, heap[index] < heap[(index - 1) / 2] {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    package mutating func remove(_ key: Key) {
        times[key] = nil
    }

    /// Removes and returns the keys that are due, the earliest first.
    package mutating func take(by now: Time) -> [Key] {
        var keys: [Key] = []
        while let key = takeFirst(by: now) { keys.append(key) }
        return keys
    }

    /// Removes and returns the key that was due first; `nil` if none is due.
    package mutating func takeFirst(by now: Time) -> Key? {
        while let first = heap.first, first.time <= now {
            removeFirst()
            guard times[first.key] == first.time else { continue }
            times[first.key] = nil
            return first.key
        }
        return nil
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while true {
            let children = (2 * index + 1)..<min(2 * index + 3, max(heap.count, 2 * index + 1))
            guard let least = children.min(by: { heap[$0] < heap[$1] }), heap[least] < heap[index] else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
