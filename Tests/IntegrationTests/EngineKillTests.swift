import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@Suite(.serialized)
struct EngineKillTests {
    @Test(.timeLimit(.minutes(3)))
    func `an engine that is killed while it works loses no acknowledged command and applies none twice`() async throws {
        var random = SeededRandom()
        let installation = try await Installation()
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let client = try #require(Client("tester"))
        let replies = Topic.user(key.user, .replies(client)).name
        try await BusObserver.run(port: installation.broker.port) { observer in
            /// Sends a command again and again until its reply comes, as a client does, though less patiently.
            func perform(_ action: SessionAction, at time: Double, killing: Bool = false) async throws -> Reply {
                let command = Command(
                    id: CommandID(UUID()), client: client, at: Timestamp(seconds: time), action: action)
                let message = Topic.session(key, .command).message(JSONCoding.encode(command))
                for attempt in 0..<100 {
                    await observer.publish(message)
                    if killing, attempt < 2 { try installation.kill(.engine) }
                    let reply = try? await observer.wait(for: replies, within: .milliseconds(300)) { payload in
                        (try? JSONCoding.decode(Reply.self, from: payload))?.id == command.id
                    }
                    if let reply { return try JSONCoding.decode(Reply.self, from: reply) }
                }
                throw BusObserver.Unseen(topic: replies)
            }

            let start = 1_700_000_000.0
            let begun = try await perform(.start(SessionStart(activity: .running, countdown: 0)), at: start)
            try #require(begun.ok)
            let laps = 60
            for lap in 1...laps {
                // It dies with the command somewhere between the broker and the reply.
                let isKilled = Int.random(in: 0..<5, using: &random) == 0
                let reply = try await perform(.lap, at: start + Double(lap), killing: isKilled)
                #expect(reply.ok, "\(reply)")
            }
            let ended = try await perform(.end(streams: [:]), at: start + Double(laps) + 1)
            #expect(ended.ok)
            let payload = try await observer.wait(for: Topic.session(key, .state).name) { payload in
                (try? JSONCoding.decode(SessionState.self, from: payload))?.revision ?? 0 >= ended.revision ?? 0
            }
            let state = try JSONCoding.decode(SessionState.self, from: payload)
            #expect(state.laps == (1...laps).map { Timestamp(seconds: start + Double($0)) })
            #expect(state.segments == [Segment(start: Timestamp(seconds: start), end: Timestamp(seconds: start + 61))])
        }
    }
}
