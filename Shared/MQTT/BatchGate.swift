/// Decides when the network loop delivers the messages read: one batch at a time, and the next one an interval later, or
/// when a whole turn waits.
struct BatchGate {
    typealias Instant = ContinuousClock.Instant

    /// Messages read and not delivered yet.
    struct Collected: Equatable {
        var messages = 0
        /// Whether they are enough for a whole batch.
        var isTurn = false
        /// Whether no more may be read.
        var isFull = false
    }

    private let interval: Duration
    /// The maximum delay of messages that arrive before the SUBACK of their subscription.
    private static let grantTimeout = Duration.seconds(1)

    private var collected = Collected()
    private var collectedSince: Instant?
    /// The batch that its consumer has not finished.
    private var outstanding: UInt64?
    private var latestDelivery: Instant?
    private var latestID: UInt64
    /// Whether the last batch left messages behind.
    private var isBehind = false

    init(interval: Duration, latestID: UInt64 = 0) {
        self.interval = interval
        self.latestID = latestID
    }

    var isEmpty: Bool { collected.messages == 0 }
    var mayRead: Bool { !collected.isFull }
    var isOutstanding: Bool { outstanding != nil }

    mutating func read(_ total: Collected, now: Instant) {
        if collectedSince == nil, total.messages > 0 { collectedSince = now }
        collected = total
    }

    /// The time to deliver the collected messages; `nil` if there are none or a batch is outstanding.
    func due(isGranted: Bool, isDraining: Bool = false) -> Instant? {
        guard let collectedSince, outstanding == nil else { return nil }
        guard !collected.isTurn, !collected.isFull, !isBehind, !isDraining else { return collectedSince }
        guard isGranted else { return collectedSince + Self.grantTimeout }
        guard let latestDelivery else { return collectedSince }
        return max(collectedSince, latestDelivery + interval)
    }

    /// Makes messages the outstanding batch and returns its id. The rest stays collected.
    mutating func deliver(leaving rest: Collected, now: Instant) -> UInt64 {
        collected = rest
        collectedSince = rest.messages > 0 ? now : nil
        isBehind = rest.messages > 0
        return begin(now)
    }

    /// Makes the messages of a lost connection the outstanding batch.
    mutating func deliverLeftover(now: Instant) -> UInt64 { begin(now) }

    private mutating func begin(_ now: Instant) -> UInt64 {
        precondition(outstanding == nil, "one batch at a time")
        latestID += 1
        latestDelivery = now
        outstanding = latestID
        return latestID
    }

    /// Ignores a batch that was finished before, and one of a former subscriber.
    mutating func finished(_ id: UInt64) {
        if outstanding == id { outstanding = nil }
    }

    /// Drops the collected messages. An outstanding batch still blocks the next one.
    mutating func connectionLost() {
        collected = Collected()
        collectedSince = nil
        isBehind = false
    }

    /// Drops the collected messages. Nothing blocks the batches of the next subscriber.
    mutating func subscriberLeft() {
        self = BatchGate(interval: interval, latestID: latestID)
    }
}
