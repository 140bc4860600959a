import Synchronization

/// Results on their way from concurrent tasks to a service's loop. The number of tasks bounds its size.
package final class Inbox<Item: Sendable>: Sendable {
    private struct State {
        var items: [Item] = []
        var waiter: (isMet: @Sendable ([Item]) -> Bool, continuation: CheckedContinuation<Void, Never>)?

        /// Removes and returns the waiter whose condition is met.
        mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
            guard let waiter, waiter.isMet(items) else { return nil }
            self.waiter = nil
            return waiter.continuation
        }
    }

    private let state = Mutex(State())

    package init() {}

    package func add(_ item: Item) {
        let waiter = state.withLock { state in
            state.items.append(item)
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Removes and returns everything added since the last call, in order.
    package func take() -> [Item] {
        state.withLock { state in
            defer { state.items = [] }
            return state.items
        }
    }

    /// Returns once what was added since the last ``take()`` meets a condition, or when the task is canceled. Only one task waits
    /// at a time.
    package func wait(until isMet: @escaping @Sendable ([Item]) -> Bool) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state in
                    state.waiter = (isMet, continuation)
                    return Task.isCancelled ? state.waiter.take()?.continuation : state.takeWaiter()
                }
                ready?.resume()
            }
        } onCancel: {
            state.withLock { $0.waiter.take() }?.continuation.resume()
        }
    }
}
