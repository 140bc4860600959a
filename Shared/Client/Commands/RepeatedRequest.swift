package import ServiceKit
package import Workouts

/// The times of one request: once on each connection, then every 5 s, until its final reply. A value without a clock.
///
/// `Shared/Bus/examples/repeated-requests.json` has the cases that every client follows.
package struct RepeatedRequest: Equatable {
    /// Seconds between repetitions.
    package static let interval = 5.0
    /// The longest wait that a refusal can ask for, in seconds.
    static let longestWait = 86_400.0

    package enum Answer: Equatable {
        case accepted
        /// The request is repeated: the refusal says when, or its code passes with time.
        case postponed(Refusal)
        case refused(Refusal)
    }

    /// The codes of refusals that pass with time.
    private let passingCodes: Set<String>
    package private(set) var isConnected: Bool
    /// Whether the final reply is there.
    private var isAnswered = false
    /// How often the request was sent.
    package private(set) var tries = 0
    package private(set) var firstSentAt: Moment?
    /// `nil`: at once.
    private var dueAt: Moment?
    /// The end of the wait that the last refusal asked for. A new connection does not shorten it.
    private var pausedUntil: Moment?

    package init(passingCodes: Set<String> = [], isConnected: Bool = false) {
        self.passingCodes = passingCodes
        self.isConnected = isConnected
    }

    /// - Parameter start: when the request goes out on this connection; `nil` at once.
    package mutating func connect(sendingFrom start: Moment? = nil) {
        isConnected = true
        dueAt = start
    }

    package mutating func disconnect() {
        isConnected = false
    }

    /// Whether to send the request now. If so, the next time is an interval later.
    package mutating func takeTurn(_ now: Moment) -> Bool {
        guard isConnected, !isAnswered, [dueAt, pausedUntil].allSatisfy({ $0.map { now >= $0 } ?? true }) else {
            return false
        }
        dueAt = now + Self.interval
        firstSentAt = firstSentAt ?? now
        tries += 1
        return true
    }

    /// - Parameter refusal: the error of the reply; `nil` if the request was accepted.
    package mutating func receiveReply(_ refusal: Refusal?, _ now: Moment) -> Answer {
        if let refusal {
            if let retryAfter = refusal.retryAfter {
                pausedUntil = now + min(max(retryAfter, Self.interval), Self.longestWait)
                return .postponed(refusal)
            }
            if passingCodes.contains(refusal.code) {
                dueAt = now + Self.interval
                return .postponed(refusal)
            }
        }
        isAnswered = true
        return refusal.map { .refused($0) } ?? .accepted
    }

    /// Begins again, for example to ask for the time every interval. Waits continue.
    package mutating func repeatFromStart() {
        (isAnswered, firstSentAt, tries) = (false, nil, 0)
    }
}
