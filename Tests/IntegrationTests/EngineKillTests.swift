import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@Suite(.serialized)
struct EngineKillTests {
    @Test(.timeLimit(.minutes(60)))
    func `a killed engine loses no acknowledged command and applies none twice`() async throws {
        var random = SeededRandom()
        let installation = try await Installation()
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        try await BusObserver.run(port: installation.broker.port) { observer in
            let client = CommandClient(key: key, observer: observer)
            let start = 1_700_000_000.0
            let begun = try await client.perform(
                .start(SessionStart(activity: .running, countdown: 0)), at: start)
            try #require(begun.ok)
            let laps = 60
            for lap in 1...laps {
                // The kill comes between the publish and the reply.
                let isKilled = Int.random(in: 0..<5, using: &random) == 0
                let reply = try await client.perform(.lap, at: start + Double(lap)) { attempt in
                    if isKilled, attempt < 2 { try installation.kill(.engine) }
                }
                #expect(reply.ok, "\(reply)")
            }
            let ended = try await client.perform(.end(streams: [:]), at: start + Double(laps) + 1)
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
