import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// `compose/up --brokers 2`: an active and a standby broker behind HAProxy.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct BrokerPairTests {
    private static let recording = FITFixture.workout(
        start: 1_700_000_000, duration: 1_200, pauses: [300...400])
    /// A record each second, both ends of each segment included.
    private static let items = 301 + 801
    /// The retained topics of a finished session. Services publish `heard` of unfinished ones only.
    private static let topics: Set = [
        "state", "metrics", "route", "summary/metrics", "summary/route", "workout", "export/folder",
        "export/healthkit",
    ]

    private enum Fault: CaseIterable {
        case killed, hung
    }

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `a broker that is killed or hangs while a device sends changes no result and loses no retained topic`()
        async throws
    {
        let compose = try ComposeSystem.folder()
        let password = try await compose.addAccount("anna")
        let system = try await ComposeSystem.run(compose, ["--brokers", "2"])
        defer { system.process.end(SIGTERM) }
        let user = try #require(User("anna"))
        var sessions = [SessionKey(user, SessionID(UUID()))]
        try await system.observe { observer in
            #expect(
                try await system.replay(Self.recording, sessions[0], password: password).finish() == 0,
                "\(system.deviceLog)")
            let expected = try await Results.comparable(sessions[0], items: Self.items, from: observer)
            for fault in Fault.allCases {
                let key = SessionKey(user, SessionID(UUID()))
                sessions.append(key)
                let device = try system.replay(Self.recording, key, password: password, speedUp: 40)
                var count = 0
                func advance() async throws {
                    let before = count
                    _ = try await observer.wait(for: Topic.session(key, .metrics).name) { payload in
                        count = (try? JSONCoding.decode(MetricsSnapshot.self, from: payload))?.count ?? 0
                        return count >= before + 60
                    }
                }
                try await advance()
                let (active, standby) = (try #require(system.ids["mosquitto"]), system.ids["mosquitto-2"])
                kill(active, fault == .killed ? SIGKILL : SIGSTOP)
                if fault == .hung {
                    #expect(await eventually { await state(of: "mosquitto", system) == "hung" })
                    #expect(await state(of: "mosquitto-2", system) == "active")
                    try await advance()
                    kill(active, SIGCONT)
                }
                try await advance()
                #expect(await device.finish() == 0, "\(system.deviceLog)")
                // It starts again once all clients are back, and is empty.
                let isBack = await eventually {
                    guard await state(of: "mosquitto", system) == "active" else { return false }
                    return await state(of: "mosquitto-2", system) == "standby" && system.ids["mosquitto-2"] != standby
                }
                #expect(isBack, "\(fault): \(system.output)")
                #expect(try await Results.comparable(key, items: Self.items, from: observer) == expected, "\(fault)")
                _ = try await observer.exported(key)
            }
        }
        // A client that connects now.
        try await system.observe { observer in
            for key in sessions {
                let isWhole = await eventually { observer.topics(of: key).isSuperset(of: Self.topics) }
                #expect(isWhole, "\(Self.topics.subtracting(observer.topics(of: key)))")
            }
        }
        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)
        #expect(system.programs == [])
    }

    /// A process' state in `compose/status`.
    private func state(of name: String, _ system: ComposeSystem) async -> String? {
        let lines = (try? await system.command("status").output)?.split(separator: "\n") ?? []
        return lines.first { $0.hasPrefix("\(name) ") }
            .map { $0.dropFirst(24).prefix(22).trimmingCharacters(in: .whitespaces) }
    }

    @Test func `both brokers apply each change of an account, and the proxy serves all listeners`() async throws {
        let compose = try ComposeSystem.folder()
        let system = try await ComposeSystem.run(compose, ["--brokers", "2", "--listen", "127.0.0.1"])
        defer { system.process.end(SIGTERM) }
        #expect(try await system.command("status").status == 0)
        #expect(try await system.get("mqtt-proxy", "/readyz") == "")
        let anna = try await compose.addAccount("anna")
        let ports = try ["mosquitto", "mosquitto-2", "mqtt"].map { try system.port(of: $0) }
        #expect(Set(ports).count == 3)
        let tls = MQTTConfiguration.TLS(caFile: compose.folder.file("data/tls/ca.crt"))
        let clients =
            ports.map { AccountClient("anna", anna, port: $0) }
            + [AccountClient("anna", anna, port: try system.port(of: "mqtts"), tls: tls)]
        try await AccountClient.run(clients, subscribedTo: ["$SYS/pacebus/accounts/anna"]) {
            for client in clients {
                #expect(await eventually { client.payloads("$SYS/pacebus/accounts/anna").count == 1 })
            }
            try await compose.run("user", "password", "anna")
            for client in clients { #expect(await eventually { client.disconnects > 0 && !client.isConnected }) }
        }
    }

    @Test func `compose/up runs one or two brokers, and no other number`() async throws {
        for number in ["0", "3", "two", ""] {
            let system = try ComposeSystem(try ComposeSystem.folder(), ["--brokers", number])
            #expect(await system.process.finish() == 1)
            #expect(system.output.contains("invalid --brokers '\(number)'; allowed: 1 or 2\n"), "\(system.output)")
        }
    }
}
