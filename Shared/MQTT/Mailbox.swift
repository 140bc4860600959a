/// What the callers on any thread and the network loop's thread share, behind one lock.
struct Mailbox {
    typealias Waiter = CheckedContinuation<Result<Void, MQTTError>, Never>

    enum Stop: Int, Comparable {
        /// Flush what is queued first.
        case graceful
        case immediate

        static func < (one: Stop, other: Stop) -> Bool { one.rawValue < other.rawValue }
    }

    struct Subscriber {
        var id: UInt64
        var subscriptions: [MQTTSubscription]
        var events: AsyncStream<MQTTEvent>.Continuation
    }

    var window = PublishWindow()
    private(set) var waiters: [PublishWindow.ID: Waiter] = [:]
    private var latestID: UInt64 = 0

    var subscriber: Subscriber?
    var acknowledged: UInt64?
    var isDraining = false
    var stop: Stop?
    var isReady = false

    /// Resumed when `run()` may return.
    var runner: CheckedContinuation<Void, Never>?
    var hasStarted = false
    var hasStopped = false
    /// The loop's thread sits in the resolver and cannot be woken.
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
