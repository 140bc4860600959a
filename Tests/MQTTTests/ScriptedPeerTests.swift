import MQTT
import TestSupport
import Testing

/// The client against brokers that refuse, disconnect, repeat and fall silent.
@Suite(.serialized, .timeLimit(.minutes(60))) struct ScriptedPeerTests {
    @Test(
        arguments: [0x80, 0x84, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x8C, 0x95, 0x97, 0x9A, 0x9B, 0x9C, 0x9D, 0x9F] as [UInt8]
    )
    func `after a refusing CONNACK the client retries and connects`(reason: UInt8) async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack(reason: connection.number <= 2 ? reason : 0)
            try connection.readToEnd()
        }
        defer { peer.stop() }
        try await withRunningClient(testConfiguration(port: peer.port)) { client in
            try await expectEventually { client.isReady }
            #expect(peer.connections == 3)
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5] as [UInt8])
    func `after a refusing CONNACK of version 3 the client retries and connects`(code: UInt8) async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack(reason: connection.number == 1 ? code : 0)
            try connection.readToEnd()
        }
        defer { peer.stop() }
        try await withRunningClient(testConfiguration(port: peer.port, version: .v311)) { client in
            try await expectEventually { client.isReady }
            #expect(peer.connections == 2)
        }
    }

    @Test(arguments: [0x81, 0x82, 0x87, 0x8B, 0x8D, 0x8E, 0x93, 0x97, 0x98] as [UInt8])
    func `after the server's DISCONNECT the client subscribes again`(reason: UInt8) async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack()
            try connection.suback()
            if connection.number == 1 { try connection.disconnect(reason: reason) }
            try connection.readToEnd()
        }
        defer { peer.stop() }
        try await withRunningClient(testConfiguration(port: peer.port)) { client in
            try await withRecorder(client, ["a"], waitsForConnection: false) { recorder in
                try await expectEventually { recorder.events == [.connected, .disconnected, .connected] }
            }
        }
    }

    @Test func `after a connection closed within a packet the client reconnects`() async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack()
            try connection.suback()
            if connection.number == 1 {
                try connection.publish("a", Array("whole".utf8))
                let packet = ScriptedPeer.Packet(.publish, body: ScriptedPeer.string("a") + [0] + Array("cut".utf8))
                try connection.write(packet.bytes.dropLast(2))
                return
            }
            try connection.readToEnd()
        }
        defer { peer.stop() }
        try await withRunningClient(testConfiguration(port: peer.port)) { client in
            try await withRecorder(client, ["a"], waitsForConnection: false) { recorder in
                try await expectEventually { recorder.connections == 2 }
                #expect(recorder.texts == ["whole"])
                #expect(recorder.events.last == .connected)
            }
        }
    }

    @Test func `without an answer to CONNECT the client retries after the timeout`() async throws {
        let peer = try ScriptedPeer { connection in
            try connection.read(.connect)
            if connection.number > 1 { try connection.write(.init(.connack, body: [0, 0, 0])) }
            try connection.readToEnd()
        }
        defer { peer.stop() }
        var configuration = testConfiguration(port: peer.port)
        configuration.connectTimeout = .milliseconds(200)
        try await withRunningClient(configuration) { client in
            try await expectEventually { client.isReady }
            #expect(peer.connections == 2)
        }
    }

    @Test(arguments: [MQTTConfiguration.Version.v5, .v311])
    func `a refused filter keeps the client unready until it is granted`(version: MQTTConfiguration.Version)
        async throws
    {
        let mayGrant = Locked(false)
        let wasReady = Locked(false)
        let peer = try ScriptedPeer { connection in
            try connection.connack()
            try connection.suback(code: mayGrant.value ? 1 : version == .v5 ? 0x87 : 0x80)
            try connection.readToEnd()
        }
        defer { peer.stop() }
        try await withRunningClient(testConfiguration(port: peer.port, version: version)) { client in
            try await withRecorder(client, ["secret/#"], waitsForConnection: false) { recorder in
                try await expectEventually {
                    if recorder.connections > 0 { wasReady.set(true) }
                    return peer.connections >= 3
                }
                #expect(!wasReady.value && recorder.events.isEmpty)
                mayGrant.set(true)
                try await expectEventually { recorder.events == [.connected] && client.isReady }
            }
        }
    }

    @Test func `PUBACKs do not wait for the consumer`() async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack()
            try connection.suback()
            for id in 1...100 as ClosedRange<UInt16> { try connection.publish("a", [UInt8(id)], packetID: id) }
            try connection.readToEnd()
        }
        defer { peer.stop() }
        try await withRunningClient(testConfiguration(port: peer.port)) { client in
            try await client.withSubscriptions([MQTTSubscription(filter: "a", qos: .atLeastOnce)]) { events in
                for await case .batch in events { break }
                try await expectEventually { peer.packets(.puback).count == 100 }
            }
        }
        #expect(peer.packets(.puback).map(\.packetID) == Array(1...100))
    }

    @Test func `each duplicate is delivered and acknowledged`() async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack()
            try connection.suback()
            try connection.publish("a", [7], packetID: 7)
            try connection.read(.puback)
            try connection.publish("a", [7], packetID: 7, isDuplicate: true)
            try connection.read(.puback)
            try connection.readToEnd()
        }
        defer { peer.stop() }
        try await withRunningClient(testConfiguration(port: peer.port)) { client in
            try await withRecorder(client, ["a"]) { recorder in
                try await expectEventually { recorder.messages.count == 2 && peer.packets(.puback).count == 2 }
                #expect(peer.packets(.puback).map(\.packetID) == [7, 7])
            }
        }
    }

    @Test func `a refused publish throws the reason`() async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack()
            while true { try connection.puback(try connection.read(.publish), reason: 0x97) }
        }
        defer { peer.stop() }
        try await withRunningClient(testConfiguration(port: peer.port)) { client in
            try await expectEventually { client.isReady }
            await #expect(throws: MQTTError.refused(reason: 0x97, "Quota exceeded")) {
                try await client.publish(MQTTMessage("a", "x"))
            }
        }
    }

    @Test(arguments: [(window: 5, receiveMaximum: 100), (window: 100, receiveMaximum: 5)])
    func `without PUBACKs the client sends no more than the smaller window`(
        window: Int, receiveMaximum: UInt8
    ) async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack(properties: [0x21, 0, receiveMaximum])
            try connection.readToEnd()
        }
        defer { peer.stop() }
        var configuration = testConfiguration(port: peer.port)
        configuration.publishWindow = window
        try await withRunningClient(configuration) { client in
            try await expectEventually { client.isReady }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<12 {
                    tasks.addTask { try await client.publish(MQTTMessage("a", "\(number)")) }
                }
                try await expectEventually { peer.packets(.publish).count == 5 }
                for acknowledged in 0..<12 {
                    let overran = await eventually(within: .milliseconds(20)) {
                        peer.packets(.publish).count > 5 + acknowledged
                    }
                    #expect(!overran)
                    try peer.connection?.puback(peer.packets(.publish)[acknowledged])
                    try await expectEventually { peer.packets(.publish).count == min(12, 6 + acknowledged) }
                }
                try await tasks.waitForAll()
            }
        }
    }

    @Test func `a canceled publish ends the wait and is not repeated on the next connection`() async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack()
            if connection.number == 1 {
                try connection.read(.publish)
                // No PUBACK; the second publish ends the connection.
                try connection.read(.publish)
                return
            }
            try connection.readToEnd()
        }
        defer { peer.stop() }
        try await withRunningClient(testConfiguration(port: peer.port)) { client in
            try await expectEventually { client.isReady }
            let publishing = Task { try await client.publish(MQTTMessage("a", "1")) }
            try await expectEventually { peer.packets(.publish).count == 1 }
            publishing.cancel()
            await #expect(throws: MQTTError.canceled) { try await publishing.value }
            do {
                try await client.publish(MQTTMessage("a", "2"))
                Issue.record("published")
            } catch MQTTError.connectionLost {
            }
            try await expectEventually { peer.connections == 2 && client.isReady }
            try await client.publish(MQTTMessage("a", "3", qos: .atMostOnce))
            try await expectEventually { peer.packets(.publish).count >= 3 }
            #expect(peer.packets(.publish).count == 3)
        }
    }

    @Test func `a publish canceled before its start sends nothing`() async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack()
            try connection.readToEnd()
        }
        defer { peer.stop() }
        try await withRunningClient(testConfiguration(port: peer.port)) { client in
            try await expectEventually { client.isReady }
            let publishing = Task {
                while !Task.isCancelled { await Task.yield() }
                try await client.publish(MQTTMessage("a", "1"))
            }
            publishing.cancel()
            await #expect(throws: MQTTError.canceled) { try await publishing.value }
        }
    }

    @Test func `a graceful stop unsubscribes, waits for confirmations and sends DISCONNECT`() async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack()
            try connection.suback()
            let packet = try connection.read(.publish)
            try connection.read(.unsubscribe)
            try connection.puback(packet)
            try connection.readToEnd()
        }
        defer { peer.stop() }
        let recorder = Recorder()
        let (subscriber, publishing) = try await withRunningClient(testConfiguration(port: peer.port)) { client in
            let subscriber = Task { try await recorder.run(client, [MQTTSubscription(filter: "a", qos: .atLeastOnce)]) }
            try await expectEventually { recorder.connections == 1 }
            let publishing = Task { try await client.publish(MQTTMessage("b", "1")) }
            try await expectEventually { peer.packets(.publish).count == 1 }
            return (subscriber, publishing)
        }
        try await publishing.value
        try await subscriber.value
        #expect(recorder.events == [.connected, .ended])
        try await expectEventually { peer.packets(.disconnect).count == 1 }
    }

    @Test(arguments: [false, true])
    func `cancelling run stops at once, and leaves a will to the broker`(hasWill: Bool) async throws {
        let peer = try ScriptedPeer { connection in
            try connection.connack()
            try connection.readToEnd()
        }
        defer { peer.stop() }
        var configuration = testConfiguration(port: peer.port)
        if hasWill { configuration.will = MQTTMessage("presence", "offline") }
        let client = MQTTClient(configuration: configuration, logger: .silent)
        let running = Task { try await client.run() }
        try await expectEventually { client.isReady }
        running.cancel()
        try await running.value
        #expect(!client.isReady)
        try await expectEventually { peer.connection == nil }
        #expect(peer.packets(.disconnect).count == (hasWill ? 0 : 1))
        await #expect(throws: MQTTError.notConnected) { try await client.publish(MQTTMessage("a", "x")) }
    }

    @Test func `a stop does not wait for an unanswered connection attempt`() async throws {
        let hole = try SwallowingPort()
        let client = MQTTClient(configuration: testConfiguration(port: hole.port), logger: .silent)
        let start = ContinuousClock.now
        try await withRunning(client) { _ in }
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func `a stop during failed connection attempts ends at once`() async throws {
        let start = ContinuousClock.now
        try await withRunningClient(testConfiguration(port: 1)) { client in
            #expect(!client.isReady)
        }
        #expect(ContinuousClock.now - start < .seconds(30))
    }
}
