import Logging
import MQTT
import TestSupport
import Testing

/// The client against a real mosquitto: kills, access rules, TLS.
@Suite(.serialized, .timeLimit(.minutes(60))) struct MosquittoTests {
    @Test(arguments: [MQTTConfiguration.Version.v5, .v311])
    func `repeated kills of the broker lose no message below the subscriber's acknowledgement`(
        version: MQTTConfiguration.Version
    ) async throws {
        var random = SeededRandom()
        let broker = try await Mosquitto()
        let count = 3_000
        let kills = 6
        // The broker may lose accepted messages, so the subscriber acknowledges by its own number.
        try await withRunningClient(testConfiguration(port: broker.port, version: version)) { subscriber in
            try await withRunningClient(testConfiguration(port: broker.port, version: version)) { publisher in
                try await withRecorder(subscriber, ["numbers"]) { recorder in
                    let waits = (0..<kills).map { _ in Int.random(in: 1...400, using: &random) }
                    let killing = Task {
                        for wait in waits {
                            let seen = recorder.messages.count
                            try await expectEventually { recorder.messages.count >= min(seen + wait, count) }
                            broker.kill()
                            try await broker.start()
                            try await expectEventually { subscriber.isReady && publisher.isReady }
                        }
                    }
                    var next = 0
                    while next < count {
                        let window = (next..<min(next + 50, count)).map { MQTTMessage("numbers", "\($0)") }
                        // Counted before the send: a kill may lose the window before the send returns.
                        let losses = recorder.losses
                        do {
                            try await expectEventually { publisher.isReady && subscriber.isReady }
                            try await publisher.send(window)
                        } catch MQTTError.notConnected, MQTTError.connectionLost {
                            continue
                        }
                        let expected = window.last?.text
                        try await expectEventually {
                            recorder.lastText == expected || recorder.losses > losses || !publisher.isReady
                        }
                        let seen = Set(recorder.texts)
                        while seen.contains("\(next)") { next += 1 }
                    }
                    try await killing.value
                    #expect(Set(recorder.texts) == Set((0..<count).map { "\($0)" }))
                    #expect(recorder.losses >= kills)
                }
            }
        }
    }

    @Test func `a publish acknowledged before a kill has arrived and the others throw and can be repeated`()
        async throws
    {
        var random = SeededRandom()
        let broker = try await Mosquitto()
        try await withRunningClient(testConfiguration(port: broker.port)) { client in
            try await expectEventually { client.isReady }
            let done = Locked(0)
            let publishing = Task {
                while case let cursor = done.value, cursor < 2_000 {
                    do {
                        try await client.publish(MQTTMessage("numbers", "\(cursor)"))
                        done.set(cursor + 1)
                    } catch MQTTError.notConnected, MQTTError.connectionLost {
                        try await expectEventually { client.isReady }
                    }
                }
            }
            for _ in 0..<5 {
                let target = min(done.value + Int.random(in: 1...300, using: &random), 2_000)
                try await expectEventually { done.value >= target }
                broker.kill()
                try await expectEventually { !client.isReady }
                try await broker.start()
            }
            try await publishing.value
            #expect(done.value == 2_000)
        }
    }

    @Test func `of ten thousand subscriptions few change at a time`() async throws {
        let broker = try await Mosquitto()
        let topics = (0..<10_000).map { "sessions/\($0)/metrics" }
        try await withRunningClient(testConfiguration(port: broker.port)) { other in
            try await expectEventually { other.isReady }
            for topic in ["sessions/new/metrics", topics[5_000], topics[9_999]] {
                try await other.publish(MQTTMessage(topic, topic, retain: true))
            }
            try await withRunningClient(testConfiguration(port: broker.port)) { client in
                try await withRecorder(client, topics) { recorder in
                    try await expectEventually { recorder.texts.count == 2 }
                    var changed = topics
                    changed.insert("sessions/new/metrics", at: 7_000)
                    changed.remove(at: 5_000)
                    client.setSubscriptions(
                        changed.map { MQTTSubscription(filter: $0, qos: .atLeastOnce) }, renewing: [])
                    try await expectEventually { recorder.changes == 1 && recorder.texts.count == 3 }
                    for topic in [topics[5_000], topics[4_999]] { try await other.publish(MQTTMessage(topic, topic)) }
                    try await expectEventually { recorder.texts.count == 4 }
                    #expect(recorder.texts.suffix(2) == ["sessions/new/metrics", topics[4_999]])
                    #expect(recorder.connections == 1)
                }
            }
        }
    }

    @Test func `a denied publish throws in version 5 and passes in 3.1.1`()
        async throws
    {
        var settings = Mosquitto.Settings()
        settings.users = ["someone": "s3cret"]
        settings.accessRules = "user someone\ntopic readwrite mine/#\n"
        let broker = try await Mosquitto(settings)
        for version in [MQTTConfiguration.Version.v5, .v311] {
            var configuration = testConfiguration(port: broker.port, version: version)
            configuration.username = "someone"
            configuration.password = Secret("s3cret")
            try await withRunningClient(configuration) { client in
                try await expectEventually { client.isReady }
                try await client.publish(MQTTMessage("mine/a", "x"))
                if version == .v5 {
                    await #expect(throws: MQTTError.refused(reason: 0x87, "Not authorized")) {
                        try await client.publish(MQTTMessage("theirs/a", "x"))
                    }
                } else {
                    try await client.publish(MQTTMessage("theirs/a", "x"))
                }
            }
        }
    }

    @Test func `a wrong password prevents the connection and is logged once`() async throws {
        var settings = Mosquitto.Settings()
        settings.users = ["someone": "s3cret"]
        let broker = try await Mosquitto(settings)
        let log = LogRecorder()
        var configuration = testConfiguration(port: broker.port)
        configuration.username = "someone"
        configuration.password = Secret("wr0ng")
        try await withRunning(MQTTClient(configuration: configuration, logger: log.logger)) { client in
            try await expectEventually { log.lines.count { $0.contains("Not authorized") } >= 4 }
            #expect(!client.isReady)
            #expect(log.lines.count { $0.hasPrefix("error login refused") } == 1)
            #expect(!log.lines.contains { $0.contains("wr0ng") })
        }
        configuration.endsWhenRefused = true
        for version in [MQTTConfiguration.Version.v311, .v5] {
            configuration.version = version
            let error = await #expect(throws: MQTTError.self) {
                try await MQTTClient(configuration: configuration, logger: .silent).run()
            }
            guard case .refused? = error else { throw try #require(error) }
        }
    }

    @Test func `the will is published after a broken connection but not after a graceful stop`() async throws {
        let broker = try await Mosquitto()
        try await withRunningClient(testConfiguration(port: broker.port)) { watcher in
            try await withRecorder(watcher, ["wills/#"]) { recorder in
                var configuration = testConfiguration(port: broker.port)
                configuration.will = MQTTMessage("wills/orderly", "gone")
                try await withRunningClient(configuration) { client in
                    try await expectEventually { client.isReady }
                }
                // The link breaks once and accepts no more: a reconnected client could leave a second will.
                let link = try FaultyLink(to: broker.port, random: SeededRandom(seed: 0))
                defer { link.close() }
                var broken = testConfiguration(port: link.port)
                broken.will = MQTTMessage("wills/broken", "gone")
                try await withRunningClient(broken) { client in
                    try await expectEventually { client.isReady }
                    link.close()
                    try await expectEventually { !recorder.messages.isEmpty }
                }
                #expect(recorder.messages.map(\.topic) == ["wills/broken"])
            }
        }
    }

    @Test func `the keep-alive detects a frozen broker`() async throws {
        let broker = try await Mosquitto()
        var configuration = testConfiguration(port: broker.port)
        configuration.keepAlive = .seconds(5)
        configuration.connectTimeout = .seconds(1)
        try await withRunningClient(configuration) { client in
            try await withRecorder(client, ["a"]) { recorder in
                broker.freeze(true)
                try await expectEventually { recorder.losses == 1 }
                broker.freeze(false)
                try await expectEventually { recorder.connections == 2 }
            }
        }
    }

    @Test func `a payload above the limit is not published`() async throws {
        let broker = try await Mosquitto()
        try await withRunningClient(testConfiguration(port: broker.port)) { client in
            try await withRecorder(client, ["a"]) { recorder in
                let limit = [UInt8](repeating: 1, count: 256 * 1_024)
                try await client.publish(MQTTMessage(topic: "a", payload: limit, qos: .atLeastOnce))
                try await expectEventually { recorder.messages.count == 1 }
                #expect(recorder.messages[0].payload == limit[...])
                do {
                    try await client.publish(MQTTMessage(topic: "a", payload: limit + [1], qos: .atLeastOnce))
                    Issue.record("published")
                } catch MQTTError.invalid {}
            }
        }
    }

    @Test func `more retained messages than a batch do not prevent the grant`() async throws {
        let broker = try await Mosquitto()
        try await withRunningClient(testConfiguration(port: broker.port)) { publisher in
            try await expectEventually { publisher.isReady }
            try await publisher.send((0..<300).map { MQTTMessage("a/\($0)", "x", retain: true) })
            var configuration = testConfiguration(port: broker.port)
            configuration.batchLimit = 10
            try await withRunningClient(configuration) { client in
                for qos in [QoS.atMostOnce, .atLeastOnce] {
                    try await withRecorder(client, ["a/+"], qos: qos) { recorder in
                        try await expectEventually { recorder.messages.count == 300 }
                        #expect(recorder.losses == 0)
                    }
                }
            }
        }
    }
}
