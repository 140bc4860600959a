import CoreMetrics
import Logging

/// The events that the subscriber receives.
extension NetworkLoop {
    /// When the collected messages are due; `nil` while none can be delivered.
    var nextDelivery: Instant? {
        guard subscriber != nil, !outbox.holdsMessages, stuck == nil else { return nil }
        return gate.due(isGranted: machine.isEstablished, isDraining: isDraining)
    }

    func deliver(now: Instant) {
        guard let subscriber, !hasEndedStream else { return }
        if let event = stuck {
            stuck = nil
            offer(event, to: subscriber)
        }
        while stuck == nil, let event = outbox.events.first {
            switch event {
            case .connected:
                offer(.connected, to: subscriber)
            case .disconnected(let error):
                offer(.disconnected(error), to: subscriber)
            case .leftover(let messages):
                guard !gate.isOutstanding else { return }
                offer(batch(messages, id: gate.deliverLeftover(now: now)), to: subscriber)
            }
            outbox.removeFirst()
        }
        guard stuck == nil else { return }
        if let nextDelivery, nextDelivery <= now, let connection {
            // A change of subscriptions is complete when everything read before it is delivered.
            let messages = connection.queue.take(all: pendingChanges > 0 && !machine.isChanging)
            let id = gate.deliver(leaving: connection.queue.total, now: now)
            offer(batch(messages, id: id), to: subscriber)
        }
        if !machine.isChanging, gate.isEmpty {
            while pendingChanges > 0, stuck == nil {
                pendingChanges -= 1
                offer(.subscribed, to: subscriber)
            }
        }
        if isDraining, stuck == nil, gate.isEmpty {
            hasEndedStream = true
            subscriber.events.finish()
        }
    }

    private func batch(_ messages: [MQTTMessage], id: UInt64) -> MQTTEvent {
        metrics.received.increment(by: messages.count)
        return .batch(
            MQTTBatch(messages: messages) { [mailbox] in
                mailbox.change { $0.finished = max($0.finished ?? id, id) }
            })
    }

    private func offer(_ event: MQTTEvent, to subscriber: Mailbox.Subscriber) {
        guard case .dropped = subscriber.events.yield(event) else { return }
        stuck = event
    }

    /// A message that can never be sent is a programmer's error. All are counted; the first of each kind is logged as an error.
    func reportUnsendable(_ message: MQTTMessage, _ error: MQTTError) {
        metrics.publishFailures.increment()
        let isNews = reportedFailures.insert(error).inserted
        logger.log(
            level: isNews ? .error : .debug, "invalid message dropped",
            metadata: metadata([
                .topic: message.topic, .size: "\(message.payload.count)", .error: "\(error)",
            ]))
    }

    func countDropped(of connection: Connection) {
        guard connection.queue.hasDropped else { return }
        let dropped = connection.queue.takeDropped()
        metrics.droppedUnsubscribed.increment(by: dropped.unsubscribed)
        metrics.droppedTooLarge.increment(by: dropped.tooLarge)
        for (excess, count) in dropped.limited { configuration.onExcess(excess, count) }
    }

    /// Refused publishes are counted; the first of each kind is logged as a warning.
    func reportFailure(_ error: MQTTError) {
        metrics.publishFailures.increment()
        let isNews = reportedFailures.insert(error).inserted
        logger.log(
            level: isNews ? .warning : .debug, "publish refused", metadata: metadata([.error: "\(error)"]))
    }
}

/// Undelivered events in order, at most three: remaining messages of a lost connection, its loss, and the next
/// connection. A connection that was established and lost before delivery is omitted.
struct EventOutbox {
    enum Event {
        case leftover([MQTTMessage])
        case disconnected(MQTTError)
        case connected
    }

    private(set) var events: [Event] = []

    /// Whether remaining messages are pending, so that reading must stop.
    var holdsMessages: Bool {
        if case .leftover = events.first { true } else { false }
    }

    mutating func connected() {
        events.append(.connected)
    }

    mutating func disconnected(_ error: MQTTError, leftover: [MQTTMessage]) {
        if case .connected = events.last {
            events.removeLast()
            return
        }
        if !leftover.isEmpty { events.append(.leftover(leftover)) }
        events.append(.disconnected(error))
    }

    mutating func removeFirst() {
        events.removeFirst()
    }

    mutating func removeAll() {
        events.removeAll()
    }
}

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
