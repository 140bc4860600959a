import Synchronization

/// Results on their way from concurrent tasks to a service's loop. The number of tasks bounds its size.
package final class Inbox<Item: Sendable>: Sendable {
    private let items = Mutex<[Item]>([])

    package init() {}

    package func add(_ item: Item) {
        items.withLock { $0.append(item) }
    }

    /// Removes and returns everything added since the last call, in order.
    package func take() -> [Item] {
        items.withLock { items in
            defer { items = [] }
            return items
        }
    }
}
