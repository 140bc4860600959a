/// Where one client stands with its broker: it says when to connect, what to subscribe and when a connection counts.
struct ConnectionMachine {
    typealias Instant = ContinuousClock.Instant

    private enum State {
        /// Exits: connecting when the time has come.
        case waiting(until: Instant)
        /// TCP, TLS and CONNACK are awaited. Exits: subscribing, established, waiting.
        case connecting(deadline: Instant)
        /// SUBACKs are awaited, by packet id. Exits: established, waiting.
        case subscribing(awaiting: [Int32: [MQTTSubscription]], accepted: Instant, deadline: Instant)
        /// Everything was granted. Exits: subscribing for a new subscriber, waiting.
        case established(accepted: Instant)
    }

    private var state: State
    private var backoff: Backoff
    private let timeout: Duration

    init(backoff: Backoff, timeout: Duration, now: Instant) {
        self.backoff = backoff
        self.timeout = timeout
        state = .waiting(until: now)
    }

    var isEstablished: Bool {
        if case .established = state { true } else { false }
    }

    /// CONNACK has come, so messages may be published.
    var isAccepted: Bool {
        switch state {
        case .waiting, .connecting: false
        case .subscribing, .established: true
        }
    }

    /// When ``tick(now:)`` has to be called next; `nil` while only the broker can change something.
    var deadline: Instant? {
        switch state {
        case .waiting(let until): until
        case .connecting(let deadline): deadline
        case .subscribing(_, _, let deadline): deadline
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
            return .giveUp(.unreachable("no CONNACK in time"))
        case .subscribing:
            return .giveUp(.connectionLost("no SUBACK in time"))
        case .established:
            return .none
        }
    }

    enum SubscribeAction: Equatable {
        case none
        /// Send these and tell ``sent(_:as:)`` for each packet.
        case subscribe([MQTTSubscription])
        /// Nothing to subscribe: tell the subscriber that it is connected.
        case announce
    }

    /// CONNACK with success.
    mutating func accepted(subscriptions: [MQTTSubscription]?, now: Instant) -> SubscribeAction {
        guard case .connecting = state else { return .none }
        state = .established(accepted: now)
        guard let subscriptions else { return .none }
        return subscriberEntered(subscriptions, now: now)
    }

    /// A subscriber came. Before CONNACK nothing is done: ``accepted(subscriptions:now:)`` will be given its subscriptions.
    mutating func subscriberEntered(_ subscriptions: [MQTTSubscription], now: Instant) -> SubscribeAction {
        switch state {
        case .waiting, .connecting:
            return .none
        case .subscribing(_, let accepted, _), .established(let accepted):
            guard !subscriptions.isEmpty else {
                state = .established(accepted: accepted)
                return .announce
            }
            state = .subscribing(awaiting: [:], accepted: accepted, deadline: now + timeout)
            return .subscribe(subscriptions)
        }
    }

    /// The subscriber has left; what it still waited for matters no more.
    mutating func subscriberLeft() {
        guard case .subscribing(_, let accepted, _) = state else { return }
        state = .established(accepted: accepted)
    }

    /// A SUBSCRIBE packet was handed over.
    mutating func sent(_ subscriptions: [MQTTSubscription], as packet: Int32) {
        guard case .subscribing(var awaiting, let accepted, let deadline) = state else { return }
        awaiting[packet] = subscriptions
        state = .subscribing(awaiting: awaiting, accepted: accepted, deadline: deadline)
    }

    enum GrantAction: Equatable {
        case none
        case announce
        case giveUp(MQTTError)
    }

    /// SUBACK with one code for each filter of its packet. One for a subscriber that has left meanwhile is ignored.
    mutating func granted(_ packet: Int32, codes: [UInt8]) -> GrantAction {
        guard case .subscribing(var awaiting, let accepted, let deadline) = state,
            let subscriptions = awaiting.removeValue(forKey: packet)
        else { return .none }
        guard codes.count == subscriptions.count else { return .giveUp(.connectionLost("SUBACK of the wrong length")) }
        for (subscription, code) in zip(subscriptions, codes) where code >= 0x80 {
            return .giveUp(.subscriptionRefused(filter: subscription.filter, reason: code))
        }
        guard awaiting.isEmpty else {
            state = .subscribing(awaiting: awaiting, accepted: accepted, deadline: deadline)
            return .none
        }
        state = .established(accepted: accepted)
        return .announce
    }

    /// The connection is gone, or could not be made. Returns when to try again.
    mutating func lost(now: Instant, using random: inout some RandomNumberGenerator) -> Duration {
        switch state {
        case .waiting: return .zero
        case .connecting, .subscribing: break
        case .established(let accepted): backoff.connectionLasted(now - accepted)
        }
        let delay = backoff.next(using: &random)
        state = .waiting(until: now + delay)
        return delay
    }
}
