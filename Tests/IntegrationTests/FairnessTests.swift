import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// Whatever one account sends, the services do only a bounded amount of its work before another's.
@Suite(.serialized)
struct FairnessTests {
    private let watch = Device("watch-1")!

    @Test(.timeLimit(.minutes(60)))
    func `a flood of one account delays another's items and commands by a few turns`() async throws {
        let installation = try await Installation()
        let attacked = SessionKey(try #require(User("mallory")), SessionID(UUID()))
        let key = SessionKey(try #require(User("ann")), SessionID(UUID()))
        try await BusObserver.run(port: installation.broker.port) { observer in
            for key in [attacked, key] {
                let start = SessionAction.start(SessionStart(activity: .running, countdown: 0))
                let reply = try await CommandClient(key: key, observer: observer).perform(start, at: 1_700_000_000)
                try #require(reply.ok)
            }
        }
        // The cost of a turn is at most 1 MiB, an item has 25 bytes, and one turn may be under way.
        let turn = 1_024 * 1_024 / 25 + Flood.batchSize
        let flood = Flood(attacked, port: installation.broker.port)
        try await flood.run {
            for number in 0..<10 {
                let work = try await flood.ask(batch(number, of: key), answer: .session(key, .samplesAck(watch))) {
                    (try? Ack($0)) == .next(10 * (number + 1))
                }
                #expect(work.items <= 3 * turn, "batch \(number)")
                let (id, client) = (CommandID(UUID()), Client("ann-1")!)
                let command = Command(id: id, client: client, action: .lap)
                let message = Topic.session(key, .command).message(JSONCoding.encode(command))
                let answer = try await flood.ask(message, answer: .user(key.user, .replies(client))) {
                    (try? JSONCoding.decode(Reply.self, from: $0))?.id == id
                }
                // A turn has at most 128 commands.
                #expect(answer.commands <= 3 * 128, "command \(number)")
            }
        }
    }

    private func batch(_ number: Int, of key: SessionKey) -> MQTTMessage {
        let items = (0..<10).map { Sample(time: Timestamp(seconds: 1_700_000_000 + Double(10 * number + $0))) }
        var message = Topic.session(key, .samples(watch)).message(
            SampleBatch(first: 10 * number, items: items, asksAck: true).payload)
        message.qos = .atLeastOnce
        return message
    }
}
