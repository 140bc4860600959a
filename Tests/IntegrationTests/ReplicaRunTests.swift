import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// Replicas of exporter, live-activity-publisher and virtual-run on PostgreSQL, during a virtual run of two and a
/// replayed workout.
@Suite(
    .serialized, .enabled(if: PostgresServer.isInstalled),
    .disabled(if: APNsServer.isMissing, "PYTHON has no h2, PyJWT and cryptography"), .timeLimit(.minutes(60)))
struct ReplicaRunTests {
    private static let services = ["exporter", "live-activity-publisher", "virtual-run"]

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `exports, pushes and results are the same though owners are killed and their successors frozen`()
        async throws
    {
        var random = SeededRandom()
        let apns = try await APNsServer("{}")
        defer { apns.stop() }
        let compose = try ComposeSystem.folder()
        var passwords: [String: Secret] = [:]
        for name in ReplicaScenario.people { passwords[name] = try await compose.addAccount(name) }
        let system = try await ComposeSystem.run(
            compose, ["--postgres", "--scale"] + Self.services.map { "\($0)=2" },
            environment: apns.settings + ["EXPORT_FORMATS=fit,tcx,gpx,csv,json"])
        defer { system.process.end(SIGTERM) }
        try await system.observe { observer in
            let scenario = ReplicaScenario(system, observer, passwords)
            // A new virtual-run passes no deadline for ten seconds: this run may end before it is shown as running. The
            // next one begins after them.
            let calm = try await scenario.outcome(of: try await scenario.play(speedUp: (runners: 10, watch: 0)))
            #expect(calm.rows.contains("\"place\":2"))

            let play = try await scenario.play(speedUp: (runners: 2, watch: 14))
            let shard = play.watched.session.shard
            let phone = ActivityPhone(play.watched, try #require(passwords["cleo"]), system, observer, apns)
            try await phone.start()
            try await scenario.expectPartners(in: play)
            var pairs = try Self.services.map { try ReplicaPair($0, system, observer) }
            defer { for pair in pairs { pair.thaw() } }
            for pair in pairs { try await pair.expectShared() }

            try await scenario.advance(play, by: .random(in: 1...60, using: &random))
            for index in pairs.indices.shuffled(using: &random) { try pairs[index].killOwner(of: shard) }
            for index in pairs.indices { try await pairs[index].expectRestart() }
            // The app reports the token of the activity that the push began. The push is not repeated.
            try await phone.show()

            try await scenario.advance(play, by: .random(in: 1...60, using: &random))
            for index in pairs.indices.shuffled(using: &random) { try pairs[index].freezeOwner(of: shard) }
            for pair in pairs { try await pair.expectTakeover() }
            let actual = try await scenario.outcome(of: play)
            try await phone.expectEnd()
            let pushes = try apns.requests.count

            // They wake up in the belief that they own shards, and change nothing.
            for pair in pairs { pair.thaw() }
            for pair in pairs { try await pair.expectShared() }
            #expect(try await scenario.outcome(of: play) == actual)
            #expect(try apns.requests.count == pushes)

            #expect(actual.rows == calm.rows)
            #expect(actual.results == calm.results)
            for (files, expected) in zip(actual.files, calm.files) { files.expectSame(as: expected) }
            for outcome in [calm, actual] { #expect(outcome.finishCues == ["anna ben": 1, "ben anna": 1]) }
        }
        #expect(try apns.requests.allSatisfy { $0.status == 200 && $0.error == nil })
        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)
    }
}

extension APNsServer {
    /// The environment of live-activity-publisher.
    fileprivate var settings: [String] {
        [
            "APNS_KEY_FILE=\(keyFile)", "APNS_KEY_ID=\(Self.keyID)", "APNS_TEAM_ID=\(Self.teamID)",
            "APNS_BUNDLE_ID=\(Self.bundleID)", "APNS_URL=\(url)", "APNS_CA_FILE=\(caFile)",
        ]
    }
}
