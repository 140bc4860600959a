/// Decides when the network loop may read and write, and when it delivers the messages read.
///
/// libmosquitto queues a PUBACK before it delivers a message. While the consumer is in step, so that each batch holds all
/// messages read, the gate holds back all writes, and so the PUBACKs, until the consumer acknowledges its batch. A consumer
/// that is behind delays neither reading nor writing: a PUBACK then says only that the message is queued or dropped.
struct BatchGate {
    typealias Instant = ContinuousClock.Instant

    /// Messages read and not delivered yet.
    struct Collected: Equatable {
        var messages = 0
        /// Whether one of them has QoS 1, so that PUBACKs are queued.
        var needsAcknowledgement = false
        /// Whether they are enough for a whole batch.
        var isTurn = false
        /// Whether no more may be read.
        var isFull = false
    }

    private struct Delivered {
        var id: UInt64
        var needsAcknowledgement: Bool
    }

    private let interval: Duration
    /// The maximum delay of messages that arrive before the SUBACK of their subscription.
    private static let grantTimeout = Duration.seconds(1)
    /// The maximum time without reading for a batch that is not acknowledged.
    private static let readTimeout = Duration.seconds(1)

    private var collected = Collected()
    private var collectedSince: Instant?
    private var delivered: Delivered?
    private var latestDelivery: Instant?
    private var latestID: UInt64 = 0
    /// Whether the last batch left messages behind.
    private var isBehind = false
    /// Whether the outstanding batch has taken longer than ``readTimeout``.
    private var isLate = false

    init(interval: Duration) {
        self.interval = interval
    }

    var isEmpty: Bool { collected.messages == 0 }
    var isFull: Bool { collected.isFull }
    /// Whether a delivered batch is not acknowledged yet.
    var isOutstanding: Bool { delivered != nil }
    /// While a batch with QoS 1 messages is outstanding, nothing is read. Acknowledging then writes the PUBACKs of this
    /// batch and no others.
    var mayRead: Bool { !isFull && (isBehind || isLate || delivered?.needsAcknowledgement != true) }
    var mayWrite: Bool {
        isBehind || !collected.needsAcknowledgement && delivered?.needsAcknowledgement != true
    }

    mutating func read(_ total: Collected, now: Instant) {
        if collectedSince == nil, total.messages > 0 { collectedSince = now }
        collected = total
    }

    /// The time of the next ``tick(now:)``; `nil` while time changes nothing.
    var deadline: Instant? {
        guard delivered?.needsAcknowledgement == true, !isBehind, !isLate else { return nil }
        return latestDelivery.map { $0 + Self.readTimeout }
    }

    mutating func tick(now: Instant) {
        if let deadline, deadline <= now { isLate = true }
    }

    /// The time to deliver the collected messages; `nil` if there are none or a batch is outstanding.
    func due(isGranted: Bool, isDraining: Bool = false) -> Instant? {
        guard let collectedSince, delivered == nil else { return nil }
        guard !collected.isTurn, !isFull, !isBehind, !isDraining else { return collectedSince }
        guard isGranted else { return collectedSince + Self.grantTimeout }
        guard let latestDelivery else { return collectedSince }
        return max(collectedSince, latestDelivery + interval)
    }

    /// Makes messages the outstanding batch and returns its id. The rest stays collected.
    mutating func deliver(leaving rest: Collected, now: Instant) -> UInt64 {
        let id = deliver(needsAcknowledgement: collected.needsAcknowledgement, now: now)
        collected = rest
        collectedSince = rest.messages > 0 ? now : nil
        isBehind = rest.messages > 0
        return id
    }

    /// Makes the messages of a lost connection the outstanding batch. Their PUBACKs are lost with it.
    mutating func deliverLeftover(now: Instant) -> UInt64 {
        deliver(needsAcknowledgement: false, now: now)
    }

    private mutating func deliver(needsAcknowledgement: Bool, now: Instant) -> UInt64 {
        precondition(delivered == nil, "one batch at a time")
        latestID += 1
        latestDelivery = now
        isLate = false
        delivered = Delivered(id: latestID, needsAcknowledgement: needsAcknowledgement)
        return latestID
    }

    /// Ignores a repeated acknowledgement, and one of a former subscriber.
    mutating func acknowledged(_ id: UInt64) {
        guard delivered?.id == id else { return }
        delivered = nil
        // What was read meanwhile may have QoS 1, and must not hold back the PUBACKs of this batch.
        if isLate { isBehind = true }
    }

    /// Drops the PUBACKs of the lost connection. An outstanding batch still blocks the next one.
    mutating func connectionLost() {
        dropCollected()
        delivered?.needsAcknowledgement = false
    }

    enum DepartureAction: Equatable {
        case none
        /// QoS 1 messages are unacknowledged: the connection must close without sending their PUBACKs.
        case closeConnection
    }

    mutating func subscriberLeft() -> DepartureAction {
        let action: DepartureAction = mayWrite ? .none : .closeConnection
        dropCollected()
        delivered = nil
        return action
    }

    private mutating func dropCollected() {
        collected = Collected()
        collectedSince = nil
        isBehind = false
    }
}
