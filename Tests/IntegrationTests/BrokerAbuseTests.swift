import Foundation
import MQTT
import TestSupport
import Testing

/// What clients without an account can do to a broker as `compose/up` runs it.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct BrokerAbuseTests {
    /// The start of a CONNECT.
    private static let half: [UInt8] = [0x10, 0x10, 0, 4, 0x4D, 0x51]

    @Test func `half-sent CONNECTs and idle sockets without an account lock no client out`() async throws {
        let compose = try ComposeFolder()
        let (anna, bob) = (try await compose.addAccount("anna"), try await compose.addAccount("bob"))
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        // More than the usual limit of file descriptors, half of them silent.
        let plain = (0..<1_100).compactMap { number in
            let connection = LoopbackConnection(port: broker.port, from: UInt8(2 + number % 9))
            if number.isMultiple(of: 2) { connection?.send(Self.half) }
            return connection
        }
        let tls = (0..<1_100).compactMap { LoopbackConnection(port: broker.tlsPort, from: UInt8(20 + $0 % 11)) }
        #expect(plain.count == 1_100)
        let began = ContinuousClock.now
        let trust = MQTTConfiguration.TLS(caFile: compose.folder.file("data/tls/ca.crt"))
        let clients = [
            AccountClient("anna", anna, port: broker.tlsPort, tls: trust),
            AccountClient("bob", bob, port: broker.port),
        ]
        let accepted = try await AccountClient.run(clients, subscribedTo: ["pacebus/v1/#"]) {
            let first = try await clients[0].mayPublish("pacebus/v1/u/anna/request")
            let second = try await clients[1].mayPublish("pacebus/v1/u/bob/request")
            return first && second
        }
        #expect(accepted)
        // The broker itself closes such sockets after 90 s.
        #expect(ContinuousClock.now - began < .seconds(60))
        #expect(plain.count { !$0.isClosed } == 1_100)
        #expect(await eventually(within: .seconds(60)) { tls.allSatisfy(\.isClosed) })
    }

    @Test func `an address has at most 100 connections`() async throws {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("anna")
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        let many = try (0..<120).map { _ in try #require(LoopbackConnection(port: broker.tlsPort, from: 2)) }
        // HAProxy's threads accept them in any order.
        #expect(await eventually { many.count { $0.isClosed } >= 20 })
        #expect(many.count { $0.isClosed } == 20)
        let other = try #require(LoopbackConnection(port: broker.tlsPort, from: 3))
        #expect(!other.isClosed)
        #expect(await eventually { many.allSatisfy(\.isClosed) })
    }

    @Test(arguments: [#"\x10\x10\x00\x04MQ"#, "", #"GET / HTTP/1.1\r\n\r\n"#])
    func `a client that sends no whole CONNECT over TLS is disconnected`(bytes: String) async throws {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("anna")
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        let client = "openssl s_client -quiet -connect 127.0.0.1:\(broker.tlsPort)"
        let log = compose.folder.file("client.log")
        let process = try ChildProcess(
            ["timeout", "60", "bash", "-c", "exec \(client) < <(printf '\(bytes)'; exec sleep 100)"], log: log)
        // 124 is the status of a timeout.
        #expect(await process.finish() != 124)
        #expect(try String(contentsOfFile: log, encoding: .utf8).contains("verify return:1"))
    }

    @Test func `TLS has version 1.2 with AEAD suites, or 1.3`() async throws {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("anna")
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        try await expectModernTLS(broker.tlsPort, compose.folder)
    }

    @Test func `a broker's log is rotated while it runs`() async throws {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("anna")
        let broker = try await compose.startBroker(logLimit: 20_000)
        defer { broker.process.end(SIGTERM) }
        func size(_ name: String) -> Int {
            let path = compose.folder.file("data/log/\(name)")
            return (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
        }
        // The broker logs each connection.
        func connect() { LoopbackConnection(port: broker.port)?.close() }
        #expect(
            await eventually {
                connect()
                return size("mosquitto.log.1") >= 20_000
            })
        #expect(await eventually { size("mosquitto.log") < 20_000 })
        connect()
        #expect(
            await eventually {
                let text = try? String(contentsOfFile: compose.folder.file("data/log/mosquitto.log"), encoding: .utf8)
                return text?.contains("New connection from") == true
            })
        #expect(size("mosquitto.log") < 20_000)
    }

    @Test(.enabled(if: geteuid() == 0, "the broker has an account of its own only if root starts it"))
    func `the broker's account owns no folder that root writes in`() async throws {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("anna")
        // As a broker that was taken over leaves it.
        let victim = try compose.folder.write("untouched", to: "victim")
        let folder = compose.folder.file("data/broker")
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder)/mosquitto.conf", withDestinationPath: victim)
        try await ChildProcess.run(["chown", "-R", "mosquitto:", folder], log: compose.folder.file("log"))
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "untouched")
        func owner(_ path: String) throws -> String? {
            try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountName] as? String
        }
        #expect(try owner(folder) == "root")
        #expect(try owner("\(folder)/db") == "mosquitto")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name != "db" {
            #expect(try owner("\(folder)/\(name)") == "root", "\(name)")
        }
    }
}
