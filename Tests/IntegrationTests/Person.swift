import Bus
import MQTT
import TestSupport
import Workouts

/// A user's client with the user's account.
struct Person {
    let user: User
    let account: AccountClient

    init(_ user: User, _ password: Secret, port: UInt16) {
        self.user = user
        account = AccountClient("\(user)", password, port: port)
    }

    /// The replies to a client of the user.
    func replies(to client: Client) -> [Reply] {
        account.payloads(Topic.user(user, .replies(client)).name)
            .compactMap { try? JSONCoding.decode(Reply.self, from: $0) }
    }

    /// Sends messages until each has its reply, as clients do.
    func ask(_ messages: [(id: CommandID, message: MQTTMessage)]) async throws -> [CommandID: Reply] {
        let topic = Topic.user(user, .replies(Client("tests")!)).name
        var replies: [CommandID: Reply] = [:]
        var count = 0
        for _ in 0..<60 {
            try await account.send(messages.filter { replies[$0.id] == nil }.map(\.message))
            let areAnswered = await eventually(within: .seconds(2)) {
                let payloads = account.payloads(topic)
                for payload in payloads[count...] {
                    guard let reply = try? JSONCoding.decode(Reply.self, from: payload) else { continue }
                    replies[reply.id] = reply
                }
                count = payloads.count
                return messages.allSatisfy { replies[$0.id] != nil }
            }
            if areAnswered { return replies.filter { reply in messages.contains { $0.id == reply.key } } }
        }
        throw BusObserver.Unseen(topic: topic)
    }
}
