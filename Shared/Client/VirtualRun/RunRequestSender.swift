package import Bus
package import MQTT
package import ServiceKit
package import Workouts

/// Sends one request to virtual-run and repeats it until the reply.
package struct RunRequestSender {
    /// Seconds between repetitions.
    package static let interval = 5.0

    package enum Received: Equatable {
        case nothing
        case accepted(Reply)
        /// The sender repeats the request when the refusal says.
        case postponed(Refusal)
        case refused(Refusal)
    }

    private let user: User
    private let client: Client
    /// The services' clock, from the replies.
    package private(set) var clock = ServerClock()
    /// The request without a reply.
    package private(set) var pending: VirtualRunRequest?
    private var isConnected = false
    private var firstSentAt: Moment?
    private var dueAt: Moment?

    package init(user: User, client: Client) {
        self.user = user
        self.client = client
    }

    package var topic: Topic { .user(user, .replies(client)) }

    /// Replaces the pending request.
    package mutating func send(_ action: VirtualRunRequest.Action, run: RunID? = nil, id: CommandID) {
        pending = VirtualRunRequest(id: id, client: client, run: run, action: action)
        (firstSentAt, dueAt) = (nil, nil)
    }

    package mutating func connected() {
        isConnected = true
        dueAt = nil
    }

    package mutating func disconnected() {
        isConnected = false
    }

    /// The message to send now, if one is due.
    package mutating func take(_ now: Moment) -> MQTTMessage? {
        guard isConnected, let pending, dueAt.map({ now >= $0 }) ?? true else { return nil }
        firstSentAt = firstSentAt ?? now
        dueAt = now + Self.interval
        return Topic.user(user, .virtualRunRequest).message(JSONCoding.encode(pending))
    }

    package mutating func receive(_ reply: Reply, _ now: Moment) -> Received {
        guard let request = pending, reply.id == request.id else { return .nothing }
        // The reply may answer any repetition: since the first one it took at most this long.
        if let firstSentAt {
            let sent = now.wallClock - now.seconds(since: firstSentAt)
            clock.add(sent: sent, received: now.wallClock, server: reply.now)
        }
        if let refusal = reply.error, let retryAfter = refusal.retryAfter {
            dueAt = now + max(retryAfter, Self.interval)
            return .postponed(refusal)
        }
        pending = nil
        return reply.error.map { .refused($0) } ?? .accepted(reply)
    }
}
