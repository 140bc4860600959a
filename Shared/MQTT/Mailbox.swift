import Synchronization

/// The state shared by callers on any thread and the network loop's thread, behind one lock.
struct Mailbox {
    typealias Waiter = CheckedContinuation<Result<Void, MQTTError>, Never>

    enum Stop: Int, Comparable {
        /// Sends queued messages first.
        case graceful
        case immediate

        static func < (one: Stop, other: Stop) -> Bool { one.rawValue < other.rawValue }
    }

    struct Subscriber {
        /// The newest set, and how many calls asked for it since the loop took the last.
        struct Change {
            var subscriptions: [MQTTSubscription]
            var renewed: Set<MQTTSubscription>
            var calls: Int
        }

        var id: UInt64
        var subscriptions: [MQTTSubscription]
        var events: AsyncStream<MQTTEvent>.Continuation
        var change: Change?

        mutating func change(to subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {
            change = Change(
                subscriptions: subscriptions, renewed: renewed.union(change?.renewed ?? []),
                calls: (change?.calls ?? 0) + 1)
        }
    }

    var window = PublishWindow()
    /// The callers of `flush()`, each with the time of its call.
    var flushes: [(id: PublishWindow.ID, since: ContinuousClock.Instant)] = []
    private(set) var waiters: [PublishWindow.ID: Waiter] = [:]
    private var latestID: UInt64 = 0

    var subscriber: Subscriber?
    /// The newest batch that its consumer finished.
    var finished: UInt64?
    var isDraining = false
    var stop: Stop?
    var isReady = false
    /// Why the first connection cannot succeed: what `run()` throws.
    var refusal: MQTTError?

    /// Resumed when `run()` may return.
    var runner: CheckedContinuation<Void, Never>?
    var hasStarted = false
    var hasStopped = false
    /// Whether the loop's thread is blocked in the resolver, where it cannot be woken.
    var isResolving = false

    mutating func nextID() -> UInt64 {
        latestID += 1
        return latestID
    }

    mutating func wait(_ waiter: Waiter, for id: PublishWindow.ID) {
        waiters[id] = waiter
    }

    mutating func takeWaiter(_ id: PublishWindow.ID) -> Waiter? {
        waiters.removeValue(forKey: id)
    }
}

/// The ``Mailbox`` with its lock, and the signal that wakes the network loop.
final class SharedMailbox: Sendable {
    private let mailbox = Mutex(Mailbox())
    let wakeup = Wakeup()

    func withLock<R: Sendable>(_ body: (inout Mailbox) -> R) -> R {
        mailbox.withLock { body(&$0) }
    }

    /// Changes the mailbox and wakes the network loop.
    func change<R: Sendable>(_ body: (inout Mailbox) -> R) -> R {
        defer { wakeup.signal() }
        return withLock(body)
    }

    func submit(
        _ messages: [MQTTMessage], id: PublishWindow.ID, goal: PublishWindow.Goal, while isCurrent: MessageCheck?,
        waiter: Mailbox.Waiter
    ) -> PublishWindow.SubmitAction {
        change { mailbox in
            let action = mailbox.window.submit(messages, id: id, goal: goal, while: isCurrent)
            if case .wake = action { mailbox.wait(waiter, for: id) }
            return action
        }
    }

    func cancel(_ id: PublishWindow.ID) {
        let waiter = withLock { mailbox in
            mailbox.window.canceled(id)
            return mailbox.takeWaiter(id)
        }
        waiter?.resume(returning: .failure(.canceled))
    }

    func complete(_ completions: [PublishWindow.Completion]) {
        guard !completions.isEmpty else { return }
        let waiters = withLock { mailbox in completions.map { mailbox.takeWaiter($0.id) } }
        for (waiter, completion) in zip(waiters, completions) {
            waiter?.resume(returning: completion.result)
        }
    }
}
