import Bus
import Foundation
import TestSupport
import Workouts

/// Sends one command at a time and repeats it until its reply, with a shorter timeout than a device.
struct CommandClient {
    let key: SessionKey
    let observer: BusObserver
    private let client = Client("tester")!

    /// - Parameter sent: runs after each attempt.
    func perform(
        _ action: SessionAction, at time: Double, attempts: Int = 100, sent: (Int) async throws -> Void = { _ in }
    ) async throws -> Reply {
        let command = Command(id: CommandID(UUID()), client: client, at: Timestamp(seconds: time), action: action)
        return try await perform(command, attempts: attempts, sent: sent)
    }

    func perform(
        _ command: Command, attempts: Int = 100, sent: (Int) async throws -> Void = { _ in }
    ) async throws -> Reply {
        let replies = Topic.user(key.user, .replies(client)).name
        let message = Topic.session(key, .command).message(JSONCoding.encode(command))
        for attempt in 0..<attempts {
            await observer.publish(message)
            try await sent(attempt)
            let reply = try? await observer.wait(for: replies, within: .milliseconds(300)) { payload in
                (try? JSONCoding.decode(Reply.self, from: payload))?.id == command.id
            }
            if let reply { return try JSONCoding.decode(Reply.self, from: reply) }
        }
        throw BusObserver.Unseen(topic: replies)
    }
}
