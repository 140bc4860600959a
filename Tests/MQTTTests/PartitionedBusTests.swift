import MQTT
import TestSupport
import Testing

/// Several in-memory brokers as one bus.
@Suite(.timeLimit(.minutes(60))) struct PartitionedBusTests {
    /// A client of each broker, as one bus. Topics below `all` belong to every broker, others to that of their last digit.
    private struct Client {
        let parts: [InMemoryBus]
        let bus: PartitionedBus

        init(_ brokers: [InMemoryBroker]) {
            parts = brokers.map { $0.client() }
            bus = PartitionedBus(parts) { topic in
                topic.hasPrefix("all/") ? nil : (topic.last?.wholeNumberValue ?? 0) % brokers.count
            }
        }
    }

    private func brokers(_ count: Int) -> [InMemoryBroker] { (0..<count).map { _ in InMemoryBroker() } }

    private let everything = [MQTTSubscription(filter: "#", qos: .atLeastOnce)]

    @Test func `a message is on its topic's partition alone, or on all`() async throws {
        let brokers = brokers(3)
        let bus = Client(brokers).bus
        try await bus.send(["t/0", "t/1", "t/4", "all/x"].map { MQTTMessage($0, $0, retain: true) })
        try await bus.publish(MQTTMessage("t/2", "t/2", retain: true))
        #expect(
            brokers.map { $0.published.map(\.topic) } == [
                ["t/0", "all/x"], ["t/1", "t/4", "all/x"], ["all/x", "t/2"],
            ])
    }

    @Test func `a lost partition keeps nothing from the others, and the loss of all is reported`() async throws {
        let brokers = brokers(2)
        let (reader, writer) = (Client(brokers), Client(brokers))
        try await withRecorder(reader.bus, ["#"]) { recorder in
            try await expectEventually { recorder.connections == 2 }
            try await writer.bus.send([MQTTMessage("t/0", "before", retain: true)])
            try await expectEventually { recorder.texts == ["before"] }
            reader.parts[0].cut()
            writer.parts[0].cut()
            await #expect(throws: MQTTError.notConnected) {
                try await writer.bus.send([MQTTMessage("t/0", "lost"), MQTTMessage("t/1", "sent")])
            }
            await #expect(throws: MQTTError.notConnected) { try await writer.bus.publish(MQTTMessage("t/0", "lost")) }
            try await expectEventually { recorder.texts == ["before", "sent"] }
            reader.parts[0].connect()
            try await expectEventually { recorder.texts == ["before", "sent", "before"] }
            #expect(recorder.connections == 3 && recorder.losses == 0)
            for part in reader.parts { part.cut() }
            try await expectEventually { recorder.losses == 1 }
            reader.parts[1].connect()
            try await expectEventually { recorder.connections == 4 }
        }
    }

    @Test func `a change of the subscriptions is confirmed when all partitions have`() async throws {
        let reader = Client(brokers(3))
        reader.parts[2].cut()
        try await withRecorder(reader.bus, ["a"]) { recorder in
            for change in 1...3 {
                reader.bus.setSubscriptions([MQTTSubscription(filter: "\(change)", qos: .atLeastOnce)], renewing: [])
                try await expectEventually { recorder.changes == change }
            }
            reader.bus.stopReading()
            try await expectEventually { recorder.hasEnded }
            #expect(recorder.changes == 3)
        }
    }

    @Test func `a subscriber that leaves while a batch waits for its turn blocks nothing`() async throws {
        let brokers = brokers(2)
        let (reader, writer) = (Client(brokers), Client(brokers))
        for round in 0..<3 {
            try await writer.bus.send(["t/0", "t/1"].map { MQTTMessage($0, "\(round)", retain: true) })
            // Of both partitions' batches one has its turn, and nothing finishes it.
            let first: MQTTBatch? = try await reader.bus.withSubscriptions(everything) { events in
                for await case .batch(let batch) in events { return batch }
                return nil
            }
            #expect(first?.messages.map(\.text) == ["\(round)"])
            // Its subscription is over.
            first?.finish()
        }
    }

    /// The property of ``PartitionedBus``: each partition's messages once and in order, one unfinished batch at a time, and an
    /// answer to each change.
    @Test func `random messages arrive once, in order and a batch at a time`() async throws {
        var random = SeededRandom()
        for _ in 0..<40 {
            let brokers = brokers(Int.random(in: 2...4, using: &random))
            let (reader, writer) = (Client(brokers), Client(brokers))
            var (sent, changes) = (0, 0)
            var expected: [[String]] = Array(repeating: [], count: brokers.count)
            var steps: [(messages: [MQTTMessage], changes: Bool)] = []
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                var messages: [MQTTMessage] = []
                for _ in 0..<Int.random(in: 0...4, using: &random) {
                    sent += 1
                    let digit = Int.random(in: 0..<10, using: &random)
                    messages.append(MQTTMessage("t/\(digit)", "\(sent)"))
                    expected[digit % brokers.count].append("\(sent)")
                }
                let isChange = Int.random(in: 0..<4, using: &random) == 0
                if isChange { changes += 1 }
                steps.append((messages, isChange))
            }
            let (batches, due) = AsyncStream.makeStream(of: MQTTBatch.self)
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            let unfinished = Locked(0)
            let (received, confirmed, most) = try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    for await batch in batches {
                        await Task.yield()
                        unfinished.change { $0 -= 1 }
                        batch.finish()
                    }
                }
                tasks.addTask { [steps, everything] in
                    for await _ in starts { break }
                    for step in steps {
                        try await writer.bus.send(step.messages)
                        if step.changes { reader.bus.setSubscriptions(everything, renewing: []) }
                        await Task.yield()
                    }
                }
                return try await reader.bus.withSubscriptions(everything) { events in
                    var received: [[String]] = Array(repeating: [], count: brokers.count)
                    var (connected, count, confirmed, most) = (0, 0, 0, 0)
                    for await event in events {
                        switch event {
                        case .connected:
                            connected += 1
                            if connected == brokers.count { start.finish() }
                        case .disconnected: Issue.record("no partition is lost")
                        case .subscribed: confirmed += 1
                        case .batch(let batch):
                            most = max(most, unfinished.change { $0 += 1 })
                            for message in batch.messages {
                                received[(message.topic.last?.wholeNumberValue ?? 0) % brokers.count].append(
                                    message.text)
                            }
                            count += batch.messages.count
                            due.yield(batch)
                        }
                        if connected == brokers.count, count == sent, confirmed == changes { break }
                    }
                    due.finish()
                    return (received, confirmed, most)
                }
            }
            #expect(received == expected, "seed \(random.seed)")
            #expect(confirmed == changes && most <= 1, "seed \(random.seed)")
        }
    }
}
