import Timing

/// The state of a client's connection: it decides when to connect, what to subscribe to and when a connection counts.
struct ConnectionMachine {
    typealias Instant = ContinuousClock.Instant

    /// The subscriptions of SUBSCRIBE packets by packet id; none for UNSUBSCRIBE.
    private typealias Packets = [Int32: [MQTTSubscription]]

    private enum State {
        /// Exits: connecting when the time comes.
        case waiting(until: Instant)
        /// TCP, TLS and CONNACK are pending. Exits: subscribing, established, waiting.
        case connecting(deadline: Instant)
        /// Awaits the SUBACKs of a connection or of a new subscriber. Exits: established, waiting.
        case subscribing(awaiting: Packets, accepted: Instant, deadline: Instant)
        /// The broker granted everything. Exits: subscribing for a new subscriber, changing, waiting.
        case established(accepted: Instant)
        /// Established; awaits the SUBACKs and UNSUBACKs of a change of subscriptions. Exits: established, subscribing for a new
        /// subscriber, waiting.
        case changing(awaiting: Packets, accepted: Instant, deadline: Instant)
    }

    private var state: State
    private let backoff: Backoff
    /// Attempts in a row that did not last.
    private var failures = 0
    /// The latest wait before an attempt.
    private var delay = Duration.zero
    private let timeout: Duration
    /// The longest wait after an attempt that timed out. A broker that hangs accepts connections and answers when it continues;
    /// the attempt itself has spared it for long enough.
    private static let timeoutDelay = Duration.seconds(2)

    init(backoff: Backoff, timeout: Duration, now: Instant) {
        self.backoff = backoff
        self.timeout = timeout
        state = .waiting(until: now)
    }

    var isEstablished: Bool {
        switch state {
        case .established, .changing: true
        case .waiting, .connecting, .subscribing: false
        }
    }

    /// The broker has not confirmed all of the last change of subscriptions.
    var isChanging: Bool {
        if case .changing = state { true } else { false }
    }

    /// Whether CONNACK arrived, so that messages may be published.
    var isAccepted: Bool {
        switch state {
        case .waiting, .connecting: false
        case .subscribing, .established, .changing: true
        }
    }

    /// The time of the next ``tick(now:)``; `nil` while only the broker can change the state.
    var deadline: Instant? {
        switch state {
        case .waiting(let until): until
        case .connecting(let deadline): deadline
        case .subscribing(_, _, let deadline), .changing(_, _, let deadline): deadline
        case .established: nil
        }
    }

    enum TickAction: Equatable {
        case none
        case connect
        /// Close the connection and report it as lost.
        case giveUp(MQTTError)
    }

    mutating func tick(now: Instant) -> TickAction {
        guard let deadline, deadline <= now else { return .none }
        switch state {
        case .waiting:
            state = .connecting(deadline: now + timeout)
            return .connect
        case .connecting:
            return .giveUp(.unreachable("timeout waiting for CONNACK"))
        case .subscribing, .changing:
            return .giveUp(.connectionLost("timeout waiting for SUBACK"))
        case .established:
            return .none
        }
    }

    enum SubscribeAction: Equatable {
        case none
        /// Send these and call ``sent(_:as:now:)`` for each packet.
        case subscribe([MQTTSubscription])
        /// Nothing to subscribe to: the subscriber is connected.
        case announce
    }

    /// CONNACK with success.
    mutating func accepted(subscriptions: [MQTTSubscription]?, now: Instant) -> SubscribeAction {
        guard case .connecting = state else { return .none }
        state = .established(accepted: now)
        guard let subscriptions else { return .none }
        return subscriberEntered(subscriptions, now: now)
    }

    /// A subscriber entered. Before CONNACK this does nothing: ``accepted(subscriptions:now:)`` receives its
    /// subscriptions.
    mutating func subscriberEntered(_ subscriptions: [MQTTSubscription], now: Instant) -> SubscribeAction {
        switch state {
        case .waiting, .connecting:
            return .none
        case .subscribing(_, let accepted, _), .established(let accepted), .changing(_, let accepted, _):
            guard !subscriptions.isEmpty else {
                state = .established(accepted: accepted)
                return .announce
            }
            state = .subscribing(awaiting: [:], accepted: accepted, deadline: now + timeout)
            return .subscribe(subscriptions)
        }
    }

    /// The subscriber has left; its pending SUBACKs no longer matter.
    mutating func subscriberLeft() {
        switch state {
        case .subscribing(_, let accepted, _), .changing(_, let accepted, _): state = .established(accepted: accepted)
        case .waiting, .connecting, .established: break
        }
    }

    /// A SUBSCRIBE packet was handed over, or an UNSUBSCRIBE packet, without subscriptions.
    ///
    /// On an established connection it begins a change.
    mutating func sent(_ subscriptions: [MQTTSubscription], as packet: Int32, now: Instant) {
        switch state {
        case .waiting, .connecting: break
        case .subscribing(var awaiting, let accepted, let deadline):
            awaiting[packet] = subscriptions
            state = .subscribing(awaiting: awaiting, accepted: accepted, deadline: deadline)
        case .established(let accepted):
            state = .changing(awaiting: [packet: subscriptions], accepted: accepted, deadline: now + timeout)
        case .changing(var awaiting, let accepted, let deadline):
            awaiting[packet] = subscriptions
            state = .changing(awaiting: awaiting, accepted: accepted, deadline: deadline)
        }
    }

    enum GrantAction: Equatable {
        case none
        case announce
        case giveUp(MQTTError)
    }

    /// SUBACK with one code for each filter of its packet, or UNSUBACK. One for a subscriber that left meanwhile is ignored.
    mutating func granted(_ packet: Int32, codes: [UInt8]) -> GrantAction {
        switch state {
        case .waiting, .connecting, .established: return .none
        case .subscribing(var awaiting, let accepted, let deadline):
            guard let subscriptions = awaiting.removeValue(forKey: packet) else { return .none }
            if let error = Self.validationError(subscriptions, codes) { return .giveUp(error) }
            guard awaiting.isEmpty else {
                state = .subscribing(awaiting: awaiting, accepted: accepted, deadline: deadline)
                return .none
            }
            state = .established(accepted: accepted)
            return .announce
        case .changing(var awaiting, let accepted, let deadline):
            guard let subscriptions = awaiting.removeValue(forKey: packet) else { return .none }
            if let error = Self.validationError(subscriptions, codes) { return .giveUp(error) }
            state =
                awaiting.isEmpty
                ? .established(accepted: accepted)
                : .changing(awaiting: awaiting, accepted: accepted, deadline: deadline)
            return .none
        }
    }

    /// Why the codes do not grant the subscriptions.
    private static func validationError(_ subscriptions: [MQTTSubscription], _ codes: [UInt8]) -> MQTTError? {
        guard codes.count == subscriptions.count else { return .connectionLost("SUBACK has the wrong number of codes") }
        return zip(subscriptions, codes).first { $0.1 >= 0x80 }.map { subscription, code in
            .subscriptionRefused(filter: subscription.filter, reason: code)
        }
    }

    /// The connection was lost or failed. Returns the delay before the next attempt.
    mutating func lost(now: Instant, using random: inout some RandomNumberGenerator) -> Duration {
        var limit = Duration.seconds(backoff.maximum)
        switch state {
        case .waiting: return .zero
        case .connecting(let deadline), .subscribing(_, _, let deadline):
            if deadline <= now { limit = Self.timeoutDelay }
        // A connection that is shorter than the wait before it is a failure: two clients that disconnect each other would
        // otherwise stay at the shortest wait.
        case .established(let accepted), .changing(_, let accepted, _):
            if now - accepted > delay { failures = 0 }
        }
        failures += 1
        delay = min(.seconds(backoff.delay(after: failures, using: &random)), limit)
        state = .waiting(until: now + delay)
        return delay
    }
}
