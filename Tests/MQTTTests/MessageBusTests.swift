import MQTT
import TestSupport
import Testing

/// The conformance suite of message buses: the in-memory bus, and mosquitto with both protocol versions.
@Suite(.serialized, .timeLimit(.minutes(60))) struct MessageBusTests {
    enum Kind: CaseIterable, Sendable {
        case inMemory
        case mosquitto5
        case mosquitto311
    }

    /// Two clients and their broker.
    struct Fixture: Sendable {
        var one: any MessageBus
        var other: any MessageBus
        /// `kill -9`: the broker loses all its state.
        var kill: @Sendable () -> Void
        var start: @Sendable () async throws -> Void
    }

    private func withBuses(_ kind: Kind, _ body: (Fixture) async throws -> Void) async throws {
        switch kind {
        case .inMemory:
            let broker = InMemoryBroker()
            try await body(
                Fixture(
                    one: broker.client(), other: broker.client(), kill: { broker.kill() }, start: { broker.start() }))
        case .mosquitto5: try await withMosquitto(.v5, body)
        case .mosquitto311: try await withMosquitto(.v311, body)
        }
    }

    private func withMosquitto(
        _ version: MQTTConfiguration.Version, _ body: (Fixture) async throws -> Void
    ) async throws {
        let broker = try await Mosquitto()
        try await withRunningClient(testConfiguration(port: broker.port, version: version)) { one in
            try await withRunningClient(testConfiguration(port: broker.port, version: version)) { other in
                try await expectEventually { one.isReady && other.isReady }
                try await body(
                    Fixture(one: one, other: other, kill: { broker.kill() }, start: { try await broker.start() }))
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `messages arrive in the order of publishing`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await withRecorder(buses.one, ["a/#"]) { recorder in
                let expected = (0..<500).map { "\($0)" }
                for text in expected { try await buses.other.publish(MQTTMessage("a/b", text)) }
                try await expectEventually { recorder.texts.count >= expected.count }
                #expect(recorder.texts == expected)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `sent messages beyond the window arrive in order`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await withRecorder(buses.one, ["a/#"]) { recorder in
                let expected = (0..<5_000).map { "\($0)" }
                try await buses.other.send(expected.map { MQTTMessage("a", $0) })
                try await expectEventually { recorder.texts.count >= expected.count }
                #expect(recorder.texts == expected)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `a subscription begins with retained messages and continues with live ones`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await buses.other.publish(MQTTMessage("a/1", "old", retain: true))
            try await buses.other.publish(MQTTMessage("a/2", "cleared", retain: true))
            try await buses.other.publish(MQTTMessage("a/2", "", retain: true))
            try await withRecorder(buses.one, ["a/+"]) { recorder in
                try await expectEventually { recorder.texts == ["old"] }
                try await buses.other.publish(MQTTMessage("a/1", "new", retain: true))
                try await expectEventually { recorder.texts == ["old", "new"] }
                #expect(recorder.messages.map(\.retain) == [true, false])
                #expect(recorder.events.first == .connected)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `only messages of matching topics arrive`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await withRecorder(buses.one, ["x/+/z", "y/#"]) { recorder in
                for topic in ["x", "x/1", "x/1/z", "x/1/2/z", "y", "y/1/2", "yy", "last/y", "x/last/z"] {
                    try await buses.other.publish(MQTTMessage(topic, topic))
                }
                try await expectEventually { recorder.texts.last == "x/last/z" }
                #expect(recorder.texts == ["x/1/z", "y", "y/1/2", "x/last/z"])
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `a client receives its own messages at the lower of both QoS`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await withRecorder(buses.one, ["a"], qos: .atMostOnce) { recorder in
                try await buses.one.publish(MQTTMessage("a", "self", qos: .atLeastOnce))
                try await buses.one.publish(MQTTMessage("a", "empty", qos: .atMostOnce))
                try await expectEventually { recorder.messages.count == 2 }
                #expect(recorder.messages.map(\.qos) == [.atMostOnce, .atMostOnce])
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `stopReading ends the stream and publishing continues`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await withRecorder(buses.other, ["b"]) { listener in
                try await withRecorder(buses.one, ["a"]) { recorder in
                    try await buses.other.publish(MQTTMessage("a", "1"))
                    try await expectEventually { recorder.texts == ["1"] }
                    buses.one.stopReading()
                    try await expectEventually { recorder.hasEnded }
                    try await buses.other.publish(MQTTMessage("a", "2"))
                    try await buses.one.publish(MQTTMessage("b", "still here"))
                    try await expectEventually { listener.texts == ["still here"] }
                    #expect(recorder.texts == ["1"])
                }
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `messages read before stopReading are delivered before the stream ends`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await buses.one.withSubscriptions([MQTTSubscription(filter: "a", qos: .atMostOnce)]) { events in
                var texts: [String] = []
                var held: MQTTBatch?
                for await event in events {
                    switch event {
                    case .connected:
                        try await buses.other.publish(MQTTMessage("a", "first"))
                    case .batch(let batch) where held == nil && texts.isEmpty:
                        // The batch is unfinished, so the next message stays in the client.
                        texts += batch.messages.map(\.text)
                        held = batch
                        try await buses.other.publish(MQTTMessage("a", "second"))
                        // The client reads in order, so its own message arrives after the others.
                        try await buses.one.publish(MQTTMessage("other", "later"))
                        buses.one.stopReading()
                        held?.finish()
                    case .batch(let batch):
                        texts += batch.messages.map(\.text)
                        batch.finish()
                    case .subscribed: break
                    case .disconnected(let error):
                        throw error
                    }
                }
                #expect(texts == ["first", "second"])
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `after a kill of the broker the client connects and subscribes again`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await buses.other.publish(MQTTMessage("a", "forgotten", retain: true))
            try await withRecorder(buses.one, ["a"]) { recorder in
                try await expectEventually { recorder.texts == ["forgotten"] }
                buses.kill()
                try await expectEventually { recorder.losses == 1 }
                await #expect(throws: MQTTError.notConnected) { try await buses.one.publish(MQTTMessage("a", "lost")) }
                await #expect(throws: MQTTError.notConnected) { try await buses.one.send([MQTTMessage("a", "lost")]) }
                try await buses.start()
                try await expectEventually { recorder.connections == 2 }
                try await buses.one.publish(MQTTMessage("a", "back"))
                try await expectEventually { recorder.texts.last == "back" }
                #expect(recorder.texts == ["forgotten", "back"])
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `an unfinished batch blocks the next batch and nothing else`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await withRecorder(buses.other, ["b"]) { listener in
                try await buses.one.withSubscriptions([MQTTSubscription(filter: "a", qos: .atLeastOnce)]) { events in
                    var order: [String] = []
                    var iterator = events.makeAsyncIterator()
                    guard case .connected = await iterator.next() else { throw NotInTime() }
                    try await buses.other.publish(MQTTMessage("a", "1"))
                    guard case .batch(let first) = await iterator.next() else { throw NotInTime() }
                    order += first.messages.map(\.text)
                    try await buses.other.publish(MQTTMessage("a", "2"))
                    try await buses.one.send([MQTTMessage("b", "sent")])
                    try await expectEventually { listener.texts == ["sent"] }
                    first.finish()
                    first.finish()
                    guard case .batch(let second) = await iterator.next() else { throw NotInTime() }
                    order += second.messages.map(\.text)
                    second.finish()
                    #expect(order == ["1", "2"])
                }
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `a publish awaited within a batch returns after earlier sends`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await withRecorder(buses.other, ["b"]) { listener in
                try await buses.one.withSubscriptions([MQTTSubscription(filter: "a", qos: .atLeastOnce)]) { events in
                    var iterator = events.makeAsyncIterator()
                    guard case .connected = await iterator.next() else { throw NotInTime() }
                    try await buses.other.publish(MQTTMessage("a", "1"))
                    guard case .batch(let batch) = await iterator.next() else { throw NotInTime() }
                    try await buses.one.send([MQTTMessage("b", "sent")])
                    try await buses.one.publish(MQTTMessage("b", "published"))
                    try await expectEventually { listener.texts == ["sent", "published"] }
                    batch.finish()
                }
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `an invalid message among sent messages is dropped alone`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await withRecorder(buses.other, ["#"]) { listener in
                let large = MQTTMessage(
                    topic: "large", payload: [UInt8](repeating: 1, count: 256 * 1_024 + 1), qos: .atLeastOnce)
                let bad = [large, MQTTMessage("wild/+", "x"), MQTTMessage("", "x")]
                try await buses.one.send([MQTTMessage("a", "1")] + bad + [MQTTMessage("a", "2")])
                try await buses.one.send(bad)
                try await buses.one.publish(MQTTMessage("a", "3"))
                try await expectEventually { listener.texts == ["1", "2", "3"] }
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `a subscriber that leaves a batch unfinished does not block the client`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            for round in 0..<3 {
                try await buses.one.withSubscriptions([MQTTSubscription(filter: "a", qos: .atLeastOnce)]) { events in
                    for await event in events {
                        switch event {
                        case .connected: try await buses.other.publish(MQTTMessage("a", "\(round)"))
                        case .batch(let batch):
                            #expect(batch.messages.map(\.text) == ["\(round)"])
                            return
                        case .subscribed: break
                        case .disconnected(let error): throw error
                        }
                    }
                }
                try await expectEventually { (try? await buses.one.publish(MQTTMessage("b", "alive"))) != nil }
            }
        }
    }

    // MARK: Changing subscriptions

    private func subscriptions(_ filters: String..., qos: QoS = .atLeastOnce) -> [MQTTSubscription] {
        filters.map { MQTTSubscription(filter: $0, qos: qos) }
    }

    @Test(arguments: Kind.allCases)
    func `a changed set adds topics with their retained messages and ends others`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            for topic in ["a", "b", "c"] {
                try await buses.other.publish(MQTTMessage(topic, "\(topic)0", retain: true))
            }
            try await withRecorder(buses.one, ["a", "b"]) { recorder in
                try await expectEventually { recorder.texts.sorted() == ["a0", "b0"] }
                buses.one.setSubscriptions(subscriptions("b", "c"), renewing: [])
                try await expectEventually { recorder.changes == 1 && recorder.texts.count == 3 }
                for topic in ["a", "b", "c"] { try await buses.other.publish(MQTTMessage(topic, "\(topic)1")) }
                try await expectEventually { recorder.texts.last == "c1" }
                #expect(recorder.texts.dropFirst(2) == ["c0", "b1", "c1"])
                buses.one.setSubscriptions([], renewing: [])
                try await expectEventually { recorder.changes == 2 }
                try await buses.other.publish(MQTTMessage("c", "c2"))
                buses.one.setSubscriptions(subscriptions("d"), renewing: [])
                try await expectEventually { recorder.changes == 3 }
                try await buses.other.publish(MQTTMessage("d", "d1"))
                try await expectEventually { recorder.texts.last == "d1" }
                #expect(recorder.texts.dropFirst(5) == ["d1"])
                #expect(recorder.connections == 1 && recorder.losses == 0)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `a renewed subscription brings its retained messages again`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            for topic in ["a", "b"] { try await buses.other.publish(MQTTMessage(topic, topic, retain: true)) }
            try await withRecorder(buses.one, ["a", "b"]) { recorder in
                try await expectEventually { recorder.texts.sorted() == ["a", "b"] }
                buses.one.setSubscriptions(subscriptions("a", "b"), renewing: Set(subscriptions("b", "c")))
                try await expectEventually { recorder.changes == 1 && recorder.texts.count == 3 }
                buses.one.setSubscriptions(subscriptions("a", "b"), renewing: [])
                try await expectEventually { recorder.changes == 2 }
                #expect(recorder.texts.last == "b" && recorder.messages.last?.retain == true)
                #expect(recorder.texts.count == 3)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `messages read before an unsubscription come first, though a batch is unfinished`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await buses.one.withSubscriptions(subscriptions("a")) { events in
                var iterator = events.makeAsyncIterator()
                guard case .connected = await iterator.next() else { throw NotInTime() }
                try await buses.other.publish(MQTTMessage("a", "1"))
                guard case .batch(let first) = await iterator.next() else { throw NotInTime() }
                // The client reads in order: it receives its own message after "2".
                try await buses.other.publish(MQTTMessage("a", "2"))
                try await buses.one.publish(MQTTMessage("other", "later"))
                buses.one.setSubscriptions([], renewing: [])
                first.finish()
                guard case .batch(let second) = await iterator.next() else { throw NotInTime() }
                #expect(second.messages.map(\.text) == ["2"])
                second.finish()
                guard case .subscribed = await iterator.next() else { throw NotInTime() }
                // The connection and its QoS 1 messages outlive the change.
                buses.one.setSubscriptions(subscriptions("a"), renewing: [])
                guard case .subscribed = await iterator.next() else { throw NotInTime() }
                try await buses.other.publish(MQTTMessage("a", "3"))
                guard case .batch(let third) = await iterator.next() else { throw NotInTime() }
                #expect(third.messages.map(\.text) == ["3"])
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `without a connection only the set changes, and the next connection uses it`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            try await withRecorder(buses.one, ["a"]) { recorder in
                buses.kill()
                try await expectEventually { recorder.losses == 1 }
                buses.one.setSubscriptions(subscriptions("a", "b"), renewing: [])
                buses.one.setSubscriptions(subscriptions("b", "c"), renewing: [])
                try await expectEventually { recorder.changes == 2 }
                try await buses.start()
                try await expectEventually { recorder.connections == 2 }
                for topic in ["a", "b", "c"] { try await buses.one.publish(MQTTMessage(topic, topic)) }
                try await expectEventually { recorder.texts.last == "c" }
                #expect(recorder.texts == ["b", "c"])
                #expect(recorder.events.filter { $0 == .subscribed || $0 == .connected }.last == .connected)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `each change is answered once and the newest set applies after any losses`(kind: Kind) async throws {
        var random = SeededRandom()
        try await withBuses(kind) { buses in
            let topics = (0..<100).map { "t/\($0)" }
            try await withRecorder(buses.one, []) { recorder in
                var calls = 0
                var wanted: [String] = []
                for round in 0..<12 {
                    let losesBroker = Int.random(in: 0..<3, using: &random) == 0
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        wanted = topics.filter { _ in Bool.random(using: &random) }
                        buses.one.setSubscriptions(
                            wanted.map { MQTTSubscription(filter: $0, qos: .atLeastOnce) }, renewing: [])
                        calls += 1
                        // Refused while there is no connection.
                        try? await buses.other.send(topics.prefix(10).map { MQTTMessage($0, "noise") })
                    }
                    if losesBroker {
                        let connections = recorder.connections
                        buses.kill()
                        try await buses.start()
                        try await expectEventually { recorder.connections > connections }
                    }
                    try await expectEventually { recorder.changes == calls }
                    try await expectEventually { (try? await buses.one.publish(MQTTMessage("none", ""))) != nil }
                    for topic in topics + ["end"] {
                        try await expectEventually {
                            (try? await buses.one.publish(MQTTMessage(topic, "\(round)"))) != nil
                        }
                    }
                    let received = { recorder.messages.filter { $0.text == "\(round)" }.map(\.topic) }
                    if let last = wanted.last { try await expectEventually { received().last == last } }
                    #expect(received() == wanted)
                }
                #expect(recorder.changes == calls)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `publishing to a topic with a wildcard is refused`(kind: Kind) async throws {
        try await withBuses(kind) { buses in
            do {
                try await buses.one.publish(MQTTMessage("a/+", "x"))
                Issue.record("published")
            } catch MQTTError.invalid {
            } catch {
                Issue.record("\(error)")
            }
        }
    }
}
