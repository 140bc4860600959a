import Bus
import Foundation
import MQTT
import ServiceKit
import Workouts

/// The way from a shell to the session engine: whether broker and engine answer, and what the engine's clock shows. On each
/// connection it asks every few seconds for as little of the history as there is, which changes nothing.
struct EngineLink {
    /// Seconds in which a broker has sent what it retains.
    static let retainedPatience = 2.0
    /// In words, that the engine is silent.
    static let silence = "no answer from session-engine, or this account may not ask"
    /// Seconds in which mostly all has come that needs no question.
    static let calm = 0.5
    /// Seconds between questions.
    private static let interval = 5.0
    /// Seconds without an answer, to two questions by then, until it counts as missing.
    private static let patience = 8.0

    private let user: User
    private let delay: Double
    private let request: UserRequest
    /// Seconds that the engine's clock is ahead of this machine's; `nil` until it has answered.
    private(set) var offset: Double?
    /// Whether the engine left questions without an answer, and has not answered since.
    private(set) var isSilent = false
    private var connectedAt: Timestamp?
    /// When the engine first answered on this connection.
    private var answeredAt: Timestamp?
    /// The first question on this connection since the last answer.
    private var askedAt: Timestamp?
    /// When to ask; `nil` without a connection.
    private var dueAt: Timestamp?

    /// - Parameter delay: seconds from a connect to the first question.
    init(user: User, client: Client, delay: Double = 0) {
        self.user = user
        self.delay = delay
        request = UserRequest(id: CommandID(UUID()), client: client, action: .workouts(before: nil, limit: 1))
    }

    var topic: Topic { .user(user, .replies(request.client)) }

    var isConnected: Bool { connectedAt != nil }

    /// Whether the broker has sent all that it retains.
    func hasRetained(_ now: Timestamp) -> Bool {
        connectedAt.map { now.seconds(since: $0) >= Self.retainedPatience } ?? false
    }

    /// Whether nothing is there but what was told: a broker alone may have lost what the engine keeps.
    func knowsAll(_ now: Timestamp) -> Bool {
        answeredAt.map { now.seconds(since: $0) >= Self.retainedPatience } ?? false
    }

    mutating func receive(_ event: ClientEvent, _ now: Timestamp) throws(PayloadError) {
        switch event {
        case .connected: (connectedAt, dueAt) = (now, now + delay)
        case .disconnected: (connectedAt, dueAt, askedAt, answeredAt) = (nil, nil, nil, nil)
        case .message(let message):
            guard Topic(message.topic) == topic else { return }
            let reply = try JSONCoding.decode(Reply.self, from: message.payload)
            guard reply.id == request.id else { return }
            offset = reply.now.seconds(since: now)
            answeredAt = answeredAt ?? now
            (isSilent, askedAt) = (false, nil)
        case .tick: if let askedAt, now.seconds(since: askedAt) >= Self.patience { isSilent = true }
        case .stop: break
        }
    }

    /// The question, when it is due.
    mutating func take(_ now: Timestamp) -> MQTTMessage? {
        guard let dueAt, now >= dueAt else { return nil }
        self.dueAt = now + Self.interval
        askedAt = askedAt ?? now
        return Topic.user(user, .request).message(JSONCoding.encode(request))
    }
}
