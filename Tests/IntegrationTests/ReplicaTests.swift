import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// Replicas of services on PostgreSQL.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(60)))
struct ReplicaTests {
    private static let recording = FITFixture.workout(
        start: 1_700_000_000, duration: 1_200, pauses: [300...400])
    /// A record each second, both ends of each segment included.
    private static let items = 301 + 801

    /// A session of shard 10. The first replica that has all shards keeps the lower half.
    private func session() throws -> SessionID {
        try #require(SessionID(String("\(SessionID(UUID()))".dropLast(2)) + "10"))
    }

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `replicas that are killed, frozen, started and stopped while a device sends change no result`()
        async throws
    {
        let compose = try ComposeSystem.folder()
        let password = try await compose.addAccount("anna")
        let system = try await ComposeSystem.run(
            compose, ["--postgres", "--scale", "metrics-aggregator=2", "session-engine=2"])
        defer { system.process.end(SIGTERM) }
        let user = try #require(User("anna"))
        let (calm, live) = (SessionKey(user, try session()), SessionKey(user, try session()))
        try await system.observe { observer in
            #expect(
                try await system.replay(Self.recording, calm, password: password).finish() == 0, "\(system.deviceLog)")
            let expected = try await Results.comparable(calm, items: Self.items, from: observer)

            let device = try system.replay(Self.recording, live, password: password, speedUp: 60)
            var count = 0
            func advance() async throws {
                let before = count
                _ = try await observer.wait(for: Topic.session(live, .metrics).name) { payload in
                    count = (try? JSONCoding.decode(MetricsSnapshot.self, from: payload))?.count ?? 0
                    return count >= before + 60
                }
            }
            try await advance()
            // One of each pair owns the session.
            for name in ["session-engine", "metrics-aggregator"] { kill(try #require(system.ids[name]), SIGKILL) }
            try await advance()
            #expect(try await eventually { try await isReady(system) }, "\(system.output)")
            // Frozen beyond its lease, it wakes up in the belief that it owns shards.
            let frozen = try #require(system.ids["metrics-aggregator-2"])
            kill(frozen, SIGSTOP)
            kill(try #require(system.ids["session-engine-2"]), SIGKILL)
            let isTaken = await eventually {
                (try? await system.get("metrics-aggregator", "/metrics"))?.contains("\npacebus_shards_owned 256\n")
                    == true
            }
            try await advance()
            kill(frozen, SIGCONT)
            #expect(isTaken)
            #expect(try await eventually { try await isReady(system) }, "\(system.output)")
            for count in [3, 1] {
                let (status, text) = try await system.command("scale", "metrics-aggregator=\(count)")
                #expect(status == 0, "\(text)")
                #expect(system.ids.keys.count { $0.hasPrefix("metrics-aggregator") } == count)
            }
            #expect(await device.finish() == 0, "\(system.deviceLog)")
            #expect(try await Results.comparable(live, items: Self.items, from: observer) == expected)
        }
        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)
        #expect(system.programs == [])
        // Without --postgres there would be a second, empty set of stores.
        let other = try await system.command("up", "--no-demo")
        #expect(other.status == 1 && other.output.contains("add --postgres"))
    }

    private func isReady(_ system: ComposeSystem) async throws -> Bool {
        try await system.command("status").status == 0
    }

    @Test func `compose/up takes no replicas without PostgreSQL, and none of services that have none`() async throws {
        let compose = try ComposeSystem.folder()
        for (arguments, reason) in [
            (["--scale", "dashboard=2", "metrics-aggregator=2"], "--scale needs --postgres for metrics-aggregator"),
            (["--postgres", "--scale", "mosquitto=2"], "invalid scale 'mosquitto=2'"),
            (["--postgres", "--scale", "session-engine=10"], "invalid scale 'session-engine=10'"),
        ] {
            let system = try ComposeSystem(compose, arguments)
            #expect(await system.process.finish() == 1)
            #expect(system.output.contains(reason), "\(system.output)")
        }
    }
}
