import Bus
import Foundation
import MQTT
import Workouts

/// Tells whether the session engine answers, and what its clock shows. Asks for as little of the history as there is, which
/// changes nothing, on each connection until it is answered.
struct EngineClock {
    /// Seconds between repetitions.
    private static let interval = 5.0

    private let user: User
    private let request: UserRequest
    /// Seconds that it is ahead of this machine's; `nil` until it has answered.
    private(set) var offset: Double?
    /// When to ask; `nil` without a connection, and on one once it is answered.
    private var dueAt: Timestamp?

    init(user: User, client: Client) {
        self.user = user
        request = UserRequest(id: CommandID(UUID()), client: client, action: .workouts(before: nil, limit: 1))
    }

    var topic: Topic { .user(user, .replies(request.client)) }

    mutating func connected(_ now: Timestamp) { dueAt = now }

    mutating func disconnected() { dueAt = nil }

    /// The question, when it is due.
    mutating func take(_ now: Timestamp) -> MQTTMessage? {
        guard let dueAt, now >= dueAt else { return nil }
        self.dueAt = now + Self.interval
        return Topic.user(user, .request).message(JSONCoding.encode(request))
    }

    mutating func receive(_ message: MQTTMessage, _ now: Timestamp) throws(PayloadError) {
        let reply = try JSONCoding.decode(Reply.self, from: message.payload)
        guard reply.id == request.id else { return }
        offset = reply.now.seconds(since: now)
        dueAt = nil
    }
}
