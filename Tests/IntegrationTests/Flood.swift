import Bus
import Foundation
import MQTT
import ServiceLifecycle
import Synchronization
import TestSupport
import Workouts

/// One account that sends as much as the protocol allows, beside another that sends a batch and a command at a time.
///
/// The flood is 20 streams with 20 batches of 1,000 items in flight each, and 1,000 commands: an acknowledged batch and an
/// answered command are each followed by the next.
final class Flood: Sendable {
    private struct State {
        /// Of each stream the flood's numbers: acknowledged, and sent.
        var streams: [String: (acknowledged: Int, sent: Int)] = [:]
        var work = Work()
        /// The work of the flood that was done when a message of the other account arrived, and the message.
        var answers: [String: (work: Work, payload: [UInt8])] = [:]
    }

    /// What the services did for the flood.
    struct Work: Equatable {
        var items = 0
        var commands = 0
    }

    static let batchSize = 1_000
    static let batches = 20
    private static let streams = 20
    private static let commands = 1_000

    private let attacker: MQTTClient
    private let other: MQTTClient
    private let key: SessionKey
    private let state = Mutex(State())

    /// - Parameter key: an active session of the flooding account.
    init(_ key: SessionKey, port: UInt16) {
        func client(_ name: String) -> MQTTClient {
            var configuration = MQTTConfiguration(clientID: "\(name)-\(UUID().uuidString)")
            configuration.port = port
            configuration.batchInterval = .milliseconds(1)
            return MQTTClient(configuration: configuration, logger: .silent)
        }
        attacker = client("attacker")
        other = client("other")
        self.key = key
    }

    var work: Work { state.withLock { $0.work } }

    /// Floods while `body` runs, from its second acknowledged batch of each stream and its first answered command on.
    func run<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        let group = ServiceGroup(services: [attacker, other], logger: .silent)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask { [self] in try await attack() }
            tasks.addTask { [self] in try await observe() }
            guard await eventually({ work.items > 2 * Self.streams * Self.batchSize && work.commands > 0 }) else {
                throw BusObserver.Unseen(topic: "flood")
            }
            let result = try await body()
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return result
        }
    }

    // MARK: The flooding account

    private var replies: Topic { .user(key.user, .replies(Client("flood")!)) }

    private func attack() async throws {
        let topics = (0..<Self.streams).map { Topic.session(key, .samples(Device("watch-\($0)")!)).name }
        let subscriptions =
            [TopicFilter.topic(replies)] + topics.map { MQTTSubscription(filter: "\($0)/ack", qos: .atMostOnce) }
        try await attacker.withSubscriptions(subscriptions) { events in
            for await event in events {
                switch event {
                case .connected:
                    let batches = topics.flatMap { topic in next(topic, after: 0) }
                    try await attacker.send(batches + (0..<Self.commands).map { _ in command })
                case .batch(let batch):
                    batch.finish()
                    var messages: [MQTTMessage] = []
                    for message in batch.messages {
                        if message.topic == replies.name {
                            messages.append(command)
                        } else if case .next(let number) = try Ack(message.payload) {
                            messages += next(String(message.topic.dropLast("/ack".count)), after: number)
                        }
                    }
                    try await attacker.send(messages)
                case .subscribed, .disconnected: break
                }
            }
        }
    }

    /// The batches to send after an acknowledgement. A repeated one goes back.
    private func next(_ topic: String, after acknowledged: Int) -> [MQTTMessage] {
        let range = state.withLock { state in
            var (latest, sent) = state.streams[topic] ?? (0, 0)
            if acknowledged == latest { sent = acknowledged }
            latest = max(latest, acknowledged)
            let end = latest + Self.batches * Self.batchSize
            defer { state.streams[topic] = (latest, end) }
            return sent..<end
        }
        return stride(from: range.lowerBound, to: range.upperBound, by: Self.batchSize).map { first in
            MQTTMessage(
                topic: topic, payload: Array("{\"a\":1,\"s\":\(first),\"x\":[\(Self.items)]}".utf8), qos: .atLeastOnce)
        }
    }

    private static let items = repeatElement(#"{"c":1700000000,"h":120}"#, count: batchSize).joined(separator: ",")

    private var command: MQTTMessage {
        let command = Command(id: CommandID(UUID()), client: Client("flood")!, action: .lap)
        return Topic.session(key, .command).message(JSONCoding.encode(command))
    }

    // MARK: The other account

    /// Counts what is done for the flood, and records what arrives for the other account.
    private func observe() async throws {
        let (acks, flooded) = ("pacebus/v1/+/+/+/samples/+/ack", replies.name)
        let subscriptions = [acks, "pacebus/v1/u/+/replies/+"].map { MQTTSubscription(filter: $0, qos: .atMostOnce) }
        try await other.withSubscriptions(subscriptions) { events in
            var acknowledged: [String: Int] = [:]
            for await case .batch(let batch) in events {
                batch.finish()
                for message in batch.messages {
                    let payload = [UInt8](message.payload)
                    if message.topic == flooded {
                        state.withLock { $0.work.commands += 1 }
                    } else if message.topic.contains("/\(key.user)/") {
                        guard case .next(let number) = try Ack(payload) else { continue }
                        let news = max(0, number - acknowledged[message.topic, default: 0])
                        acknowledged[message.topic, default: 0] += news
                        state.withLock { $0.work.items += news }
                    } else {
                        state.withLock { $0.answers[message.topic] = ($0.work, payload) }
                    }
                }
            }
        }
    }

    /// Publishes a message of the other account and returns the work that the services did for the flood until the answer.
    func ask(_ message: MQTTMessage, answer: Topic, where isAnswer: ([UInt8]) -> Bool) async throws -> Work {
        let before = work
        try await other.publish(message)
        var after: Work?
        _ = await eventually {
            after = state.withLock { $0.answers[answer.name] }.flatMap { isAnswer($0.payload) ? $0.work : nil }
            return after != nil
        }
        guard let after else { throw BusObserver.Unseen(topic: answer.name) }
        return Work(items: after.items - before.items, commands: after.commands - before.commands)
    }
}
