package import Bus
package import MQTT
package import ServiceKit
package import Workouts

/// Sends one request to virtual-run and repeats it until the reply.
package struct RunRequestSender {
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
    private var repeated = RepeatedRequest()

    package init(user: User, client: Client) {
        self.user = user
        self.client = client
    }

    package var topic: Topic { .user(user, .replies(client)) }

    /// Replaces the pending request.
    package mutating func send(_ action: VirtualRunRequest.Action, run: RunID? = nil, id: CommandID) {
        pending = VirtualRunRequest(id: id, client: client, run: run, action: action)
        repeated = RepeatedRequest(isConnected: repeated.isConnected)
    }

    /// - Parameter start: when requests go out on this connection; `nil` at once.
    package mutating func connected(sendingFrom start: Moment? = nil) { repeated.connect(sendingFrom: start) }

    package mutating func disconnected() { repeated.disconnect() }

    /// The message to send now, if one is due.
    package mutating func takeDue(_ now: Moment) -> MQTTMessage? {
        guard let pending, repeated.takeTurn(now) else { return nil }
        return Topic.user(user, .virtualRunRequest).message(JSONCoding.encode(pending))
    }

    package mutating func receiveReply(_ reply: Reply, _ now: Moment) -> Received {
        guard let request = pending, reply.id == request.id else { return .nothing }
        // The reply may answer any repetition: since the first one it took at most this long.
        if let firstSentAt = repeated.firstSentAt {
            let sent = now.wallClock - now.seconds(since: firstSentAt)
            clock.add(sent: sent, received: now.wallClock, server: reply.now)
        }
        let answer = repeated.receiveReply(reply.error, now)
        if case .postponed(let refusal) = answer { return .postponed(refusal) }
        pending = nil
        if case .refused(let refusal) = answer { return .refused(refusal) }
        return .accepted(reply)
    }
}
