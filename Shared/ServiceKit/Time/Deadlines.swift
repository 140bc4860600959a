package import Workouts

/// Which sessions are to be looked at when: each at the earliest time that was asked for.
///
/// A binary heap; asking for a later time than the one that stands changes nothing, for whoever is looked at too early
/// asks again.
package struct Deadlines {
    private struct Item {
        let time: Timestamp
        let key: SessionKey

        static func < (left: Item, right: Item) -> Bool { (left.time, left.key) < (right.time, right.key) }
    }

    private var heap: [Item] = []
    /// The time that stands for each session; an item of the heap with another one is outdated.
    private var times: [SessionKey: Timestamp] = [:]

    package init() {}

    /// What is held, outdated items too.
    package var count: Int { heap.count }

    package mutating func ask(_ key: SessionKey, at time: Timestamp) {
        if let standing = times[key], standing <= time { return }
        times[key] = time
        heap.append(Item(time: time, key: key))
        var index = heap.count - 1
        while index > 0, heap[index] < heap[(index - 1) / 2] {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    package mutating func forget(_ key: SessionKey) {
        times[key] = nil
    }

    /// Takes out the sessions whose time has come, the earliest first.
    package mutating func take(by now: Timestamp) -> [SessionKey] {
        var keys: [SessionKey] = []
        while let key = takeFirst(by: now) { keys.append(key) }
        return keys
    }

    /// Takes out the session whose time came first; `nil` when none has come.
    package mutating func takeFirst(by now: Timestamp) -> SessionKey? {
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
