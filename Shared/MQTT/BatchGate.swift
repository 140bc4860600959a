/// Decides when the network loop may read, when it may write, and when what it read is delivered.
///
/// libmosquitto queues a PUBACK before it hands a message over, so holding back everything that is written until the
/// consumer has acknowledged its batch holds back the PUBACKs. Only ``isFull`` is a limit; the rest is what to do as long
/// as nobody waits to publish.
struct BatchGate {
    typealias Instant = ContinuousClock.Instant

    /// What was read and is not delivered yet.
    struct Collected: Equatable {
        var messages = 0
        var bytes = 0
        /// A QoS 1 message is among them, so PUBACKs are queued.
        var needsAcknowledgement = false
    }

    private struct Delivered {
        var id: UInt64
        var needsAcknowledgement: Bool
    }

    private let messageLimit: Int
    private let byteLimit: Int
    private let interval: Duration
    /// How long messages wait for the grant of the subscriptions that brought them.
    private static let grantPatience = Duration.seconds(1)

    private var collected = Collected()
    private var collectedSince: Instant?
    private var delivered: Delivered?
    private var latestDelivery: Instant?
    private var latestID: UInt64 = 0

    init(messageLimit: Int, byteLimit: Int, interval: Duration) {
        self.messageLimit = messageLimit
        self.byteLimit = byteLimit
        self.interval = interval
    }

    var isEmpty: Bool { collected.messages == 0 }
    var isFull: Bool { collected.messages >= messageLimit || collected.bytes >= byteLimit }
    /// A delivered batch is not acknowledged yet.
    var isOutstanding: Bool { delivered != nil }
    /// While a batch with QoS 1 messages is outstanding nothing more is read, so that acknowledging it writes its PUBACKs
    /// and no others.
    var mayRead: Bool { !isFull && delivered?.needsAcknowledgement != true }
    var mayWrite: Bool { !collected.needsAcknowledgement && delivered?.needsAcknowledgement != true }

    mutating func read(_ total: Collected, now: Instant) {
        if collectedSince == nil, total.messages > 0 { collectedSince = now }
        collected = total
    }

    /// When the collected messages are to be delivered; `nil` while there are none or a batch is outstanding.
    func due(isGranted: Bool, isDraining: Bool = false) -> Instant? {
        guard let collectedSince, delivered == nil else { return nil }
        guard !isFull, !isDraining else { return collectedSince }
        guard isGranted else { return collectedSince + Self.grantPatience }
        guard let latestDelivery else { return collectedSince }
        return max(collectedSince, latestDelivery + interval)
    }

    /// The collected messages become the outstanding batch, whose id is returned.
    mutating func deliver(now: Instant) -> UInt64 {
        defer { dropCollected() }
        return deliver(needsAcknowledgement: collected.needsAcknowledgement, now: now)
    }

    /// Messages of a lost connection become the outstanding batch: their PUBACKs are gone.
    mutating func deliverLeftover(now: Instant) -> UInt64 {
        deliver(needsAcknowledgement: false, now: now)
    }

    private mutating func deliver(needsAcknowledgement: Bool, now: Instant) -> UInt64 {
        precondition(delivered == nil, "one batch at a time")
        latestID += 1
        latestDelivery = now
        delivered = Delivered(id: latestID, needsAcknowledgement: needsAcknowledgement)
        return latestID
    }

    /// A repeated acknowledgement, or one of a subscriber that has left, is ignored.
    mutating func acknowledged(_ id: UInt64) {
        guard delivered?.id == id else { return }
        delivered = nil
    }

    /// The PUBACKs are gone with the connection. An outstanding batch still bars the next one.
    mutating func connectionLost() {
        dropCollected()
        delivered?.needsAcknowledgement = false
    }

    enum DepartureAction: Equatable {
        case none
        /// QoS 1 messages were read and not acknowledged: the connection must end without their PUBACKs.
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
    }
}
