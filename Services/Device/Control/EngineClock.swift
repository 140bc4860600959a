import Bus
import Foundation
import MQTT
import Workouts

/// Tells whether the session engine answers, and what its clock shows. Asks for as little of the history as there is, which
/// changes nothing.
struct EngineClock {
    private let user: User
    private let request: UserRequest
    /// Seconds that it is ahead of this machine's; `nil` until it has answered.
    private(set) var offset: Double?

    init(user: User, client: Client) {
        self.user = user
        request = UserRequest(id: CommandID(UUID()), client: client, action: .workouts(before: nil, limit: 1))
    }

    var topic: Topic { .user(user, .replies(request.client)) }
    var question: MQTTMessage { Topic.user(user, .request).message(JSONCoding.encode(request)) }

    mutating func receive(_ message: MQTTMessage, _ now: Timestamp) throws(PayloadError) {
        let reply = try JSONCoding.decode(Reply.self, from: message.payload)
        if reply.id == request.id { offset = reply.now.seconds(since: now) }
    }
}
