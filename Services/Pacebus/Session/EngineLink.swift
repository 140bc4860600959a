import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import Workouts

/// The connection to session-engine: whether it replies, and the time of its clock. A request for one workout of the history
/// every few seconds, which has no effect, checks both.
struct EngineLink {
    /// Seconds after which a broker has sent its retained messages.
    static let retainedTime = 2.0
    static let silence = "no reply from session-engine, or this account may not send requests"
    /// Seconds after which most retained messages have arrived.
    static let settlingTime = 0.5
    /// Seconds without a reply, to two requests by then, until the engine counts as silent.
    private static let timeout = 8.0

    private let user: User
    private let client: Client
    private let delay: Double
    private let request: UserRequest
    /// Seconds that the engine's clock is ahead of this machine's; `nil` until it replies.
    private(set) var offset: Double?
    /// Whether the engine has missed requests and not replied since.
    private(set) var isSilent = false
    private var connectedAt: Moment?
    /// The first reply on this connection.
    private var repliedAt: Moment?
    /// The requests since the connect or the last reply.
    private var repeated = RepeatedRequest()

    /// - Parameter delay: seconds from a connect to the first request.
    init(user: User, client: Client, delay: Double = 0) {
        self.user = user
        self.client = client
        self.delay = delay
        request = UserRequest(id: CommandID(UUID()), client: client, action: .workouts(HistoryQuery(limit: 1)))
    }

    var topic: Topic { .user(user, .replies(client)) }

    var isConnected: Bool { connectedAt != nil }

    /// Whether the broker has sent its retained messages.
    func hasRetained(_ now: Moment) -> Bool {
        connectedAt.map { now.seconds(since: $0) >= Self.retainedTime } ?? false
    }

    /// Whether broker and engine have sent everything: the broker alone may have lost retained messages.
    func hasEverything(_ now: Moment) -> Bool {
        repliedAt.map { now.seconds(since: $0) >= Self.retainedTime } ?? false
    }

    mutating func receive(_ event: ClientEvent, _ now: Moment) throws(PayloadError) {
        switch event {
        case .connected:
            connectedAt = now
            repeated.connect(sendingFrom: now + delay)
        case .disconnected:
            (connectedAt, repliedAt) = (nil, nil)
            repeated.repeatFromStart()
            repeated.disconnect()
        case .message(let message):
            guard Topic(message.topic) == topic else { return }
            let reply = try JSONCoding.decode(Reply.self, from: message.payload)
            guard reply.id == request.id else { return }
            offset = reply.now.seconds(since: now.wallClock)
            repliedAt = repliedAt ?? now
            isSilent = false
            _ = repeated.receiveReply(reply.error, now)
            repeated.repeatFromStart()
        case .tick: if let sentAt = repeated.firstSentAt, now.seconds(since: sentAt) >= Self.timeout { isSilent = true }
        case .stop: break
        }
    }

    /// The request, when it is due.
    mutating func takeDue(_ now: Moment) -> MQTTMessage? {
        guard repeated.takeTurn(now) else { return nil }
        return Topic.user(user, .request).message(JSONCoding.encode(request))
    }
}
