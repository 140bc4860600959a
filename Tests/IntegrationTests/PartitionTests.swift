import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// `compose/up --partitions N`: several brokers, each with a part of the accounts.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct PartitionTests {
    private static let recording = FITFixture.workout(
        start: 1_700_000_000, duration: 1_200, pauses: [300...400])
    /// A record each second, both ends of each segment included.
    private static let items = 301 + 801

    /// A user of each of two partitions.
    private static let users = (0..<2).compactMap { index in
        ["anna", "ben", "carl", "dora", "emil", "fay"].first { Partition.index(of: $0, among: 2) == index }
            .flatMap { User($0) }
    }

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `an account's broker alone has its topics, and one that hangs or is killed stops no other account`()
        async throws
    {
        let compose = try ComposeSystem.folder()
        var passwords: [Secret] = []
        for user in Self.users { passwords.append(try await compose.addAccount("\(user)")) }
        let system = try await ComposeSystem.run(compose, ["--partitions", "2", "--listen", "127.0.0.1"])
        defer { system.process.end(SIGTERM) }
        #expect(try await system.command("status").status == 0)
        try await system.observe("mosquitto") { first in
            try await system.observe("mosquitto-2") { second in
                let observers = [first, second]
                var expected: [[String]] = []
                for (index, user) in Self.users.enumerated() {
                    let key = SessionKey(user, SessionID(UUID()))
                    #expect(
                        try await system.replay(Self.recording, key, password: passwords[index]).finish() == 0,
                        "\(system.deviceLog)")
                    expected.append(try await Results.comparable(key, items: Self.items, from: observers[index]))
                    _ = try await observers[index].exported(key)
                    #expect(observers[1 - index].topics(of: key) == [])
                }
                let keys = Self.users.map { SessionKey($0, SessionID(UUID())) }
                let device = try system.replay(Self.recording, keys[0], password: passwords[0], speedUp: 40)
                _ = try await first.wait(for: Topic.session(keys[0], .metrics).name) { payload in
                    (try? JSONCoding.decode(MetricsSnapshot.self, from: payload))?.count ?? 0 >= 60
                }
                let broker = try #require(system.ids["mosquitto"])
                kill(broker, SIGSTOP)
                try await checkHung(system)
                #expect(try await system.replay(Self.recording, keys[1], password: passwords[1]).finish() == 0)
                #expect(try await Results.comparable(keys[1], items: Self.items, from: second) == expected[1])
                _ = try await second.exported(keys[1])
                kill(broker, SIGKILL)
                #expect(await device.finish() == 0, "\(system.deviceLog)")
                #expect(try await Results.comparable(keys[0], items: Self.items, from: first) == expected[0])
                _ = try await first.exported(keys[0])
            }
        }
        try await check(each: passwords, of: system)
        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)
        #expect(system.programs == [])
    }

    /// While the first broker hangs, `compose/status` names it, and `compose/restart` goes on without it.
    private func checkHung(_ system: ComposeSystem) async throws {
        let exporter = system.ids["exporter"]
        async let restart = system.command("restart", "exporter")
        #expect(try await system.command("status").output.contains(#/mosquitto +hung /#))
        #expect(try await restart.status == 0)
        #expect(system.ids["exporter"] != exporter)
        #expect(try await system.get("exporter", "/readyz").hasPrefix("ready\n"))
    }

    /// Over TLS too, a user reaches the own broker, which has the retained topics again that it lost.
    private func check(each passwords: [Secret], of system: ComposeSystem) async throws {
        let tls = MQTTConfiguration.TLS(caFile: system.compose.folder.file("data/tls/ca.crt"))
        let port = try system.port(of: "mqtts")
        for (user, password) in zip(Self.users, passwords) {
            let client = AccountClient("\(user)", password, port: port, tls: tls)
            let filter = "pacebus/v1/+/\(user)/+/summary/metrics"
            try await AccountClient.run([client], subscribedTo: [filter]) {
                #expect(await eventually { client.retained.count == 2 })
            }
        }
    }

    @Test func `compose/up runs one to nine brokers, without standbys`() async throws {
        for arguments in [["--partitions", "0"], ["--partitions", "10"], ["--partitions", "two"], ["--partitions"]] {
            let system = try ComposeSystem(try ComposeSystem.folder(), arguments)
            #expect(await system.process.finish() == 1)
            #expect(
                system.output.contains(
                    "invalid --partitions '\(arguments.dropFirst().first ?? "")'; allowed: 1 to 9\n"),
                "\(system.output)")
        }
        let pair = try ComposeSystem(try ComposeSystem.folder(), ["--partitions", "2", "--brokers", "2"])
        #expect(await pair.process.finish() == 1)
        #expect(pair.output.contains("--brokers 2 and --partitions exclude each other"))
    }
}
