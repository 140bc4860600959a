import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Workouts

@testable import Streams

/// Two replicas of a service that owns streams, while shards move between them and their store fails at random.
///
/// Devices send unacknowledged items again, and a broker keeps retained messages.
struct HandoverStorm<Work: StreamWork> {
    struct Workout {
        var script: Script
        let streams: [String: [Work.Item]]
        let segments: [Segment]

        init(_ script: Script, _ streams: [String: [Work.Item]], _ segments: [Segment]) {
            self.script = script
            self.streams = streams
            self.segments = segments
        }
    }

    /// The message with a device's consecutive items.
    typealias Batch = (Script, String, Int, [Work.Item]) -> MQTTMessage

    /// Violations found by an observer of the broker.
    private(set) var violations: [String] = []
    /// The number of jobs that ran.
    private(set) var jobCount = 0
    private var workouts: [Workout]
    private let batch: Batch
    private let bounds: StreamBounds
    private let clocks: [ManualClock]
    private let database = MemoryDatabase()
    private var replicas: [StreamReplica<Work>] = []
    private var broker = BrokerModel()
    /// The last chunks, by topic.
    private var chunks: [String: MQTTMessage] = [:]
    /// The number of acknowledged items of each device, by the topic of its acknowledgements.
    private var next: [String: Int] = [:]
    private var ended: Set<SessionKey> = []

    /// - Parameter bounds: with a lower limit of many items, jobs run late and in any order.
    init(
        _ workouts: [Workout], start: Timestamp, skew: Double, bounds: StreamBounds = StreamBounds(),
        batch: @escaping Batch
    ) async throws {
        self.bounds = bounds
        self.workouts = workouts
        self.batch = batch
        clocks = [ManualClock(now: start), ManualClock(now: start + skew)]
        for clock in clocks { replicas.append(try await replica(clock)) }
        try await gain(shards, 0)
    }

    private func replica(_ clock: ManualClock) async throws -> StreamReplica<Work> {
        var replica = try await StreamReplica<Work>(database, clock: clock, bounds: bounds)
        replica.owner.runsJobs = false
        return replica
    }

    private var shards: Set<Shard> { Set(workouts.map(\.script.key.session.shard)) }

    // MARK: The broker and the devices

    private func ackTopic(_ workout: Workout, _ device: String) -> String {
        Topic.session(workout.script.key, Work.kind.ack(Device(device)!)).name
    }

    private mutating func take(_ sent: [MQTTMessage], from replica: Int) throws {
        for message in sent {
            if !message.retain, case .next(let number)? = try? Ack([UInt8](message.payload)) {
                next[message.topic] = max(next[message.topic, default: 0], number)
            }
            guard case .session(let key, let topic)? = Topic(message.topic) else { continue }
            if case .series = topic { chunks[message.topic] = message }
            if case .track = topic { chunks[message.topic] = message }
            guard message.retain else { continue }
            if message.payload.isEmpty {
                let owns = replicas[replica].store.owned.contains(key.session.shard)
                if !owns || [Work.kind.live, Work.kind.heard, Work.kind.summary].contains(topic) {
                    violations.append("\(message.topic) cleared, by its owner: \(owns)")
                }
            } else if let former = broker[message.topic], Self.revision(message) < Self.revision(former) {
                violations.append("\(message.topic): \(Self.revision(former)) to \(Self.revision(message))")
            }
            broker.publish(message)
        }
    }

    private static func revision(_ message: MQTTMessage) -> Int64 {
        let object = try? JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any]
        return (object?["revision"] ?? object?["s"]) as? Int64 ?? 0
    }

    private mutating func deliver(_ messages: [MQTTMessage], to replica: Int) async throws {
        try take(try await replicas[replica].owner.deliver(messages), from: replica)
    }

    private mutating func gain(_ shards: Set<Shard>, _ replica: Int) async throws {
        let states = workouts.filter { shards.contains($0.script.key.session.shard) }.map(
            \.script.stateMessage)
        let summaries = broker.retained.filter { message in
            guard case .session(let key, let topic)? = Topic(message.topic) else { return false }
            return topic == Work.kind.summary && shards.contains(key.session.shard)
        }
        try take(try await replicas[replica].gain(shards, retained: states + summaries), from: replica)
    }

    private mutating func tick(_ replica: Int) async throws {
        try take(try await replicas[replica].owner.tick(), from: replica)
    }

    /// The devices' next messages: unacknowledged items, with repetitions and gaps.
    private func items(_ random: inout SeededRandom) -> [MQTTMessage] {
        var messages: [MQTTMessage] = []
        for workout in workouts {
            for (device, items) in workout.streams.sorted(by: { $0.key < $1.key }) {
                let known = next[ackTopic(workout, device), default: 0]
                guard known < items.count, Int.random(in: 0..<4, using: &random) > 0 else { continue }
                let isAhead = Int.random(in: 0..<6, using: &random) == 0
                let offset = Int.random(in: 0...20, using: &random)
                let first = min(max(0, isAhead ? known + offset : known - offset), items.count - 1)
                let end = min(items.count, first + Int.random(in: 1...80, using: &random))
                messages.append(batch(workout.script, device, first, Array(items[first..<end])))
            }
        }
        return messages
    }

    // MARK: Faults

    private mutating func hazard(_ random: inout SeededRandom) async throws {
        let (one, other) = Bool.random(using: &random) ? (0, 1) : (1, 0)
        let moving = replicas[one].store.owned.filter { _ in Bool.random(using: &random) }
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            try take(try await replicas[one].release(moving), from: one)
            try await gain(moving, other)
        case 1:
            try take(try await replicas[one].lose(moving), from: one)
            try await gain(moving, Bool.random(using: &random) ? one : other)
        case 2:
            // The former owner notices with its next commit, or afterwards.
            try await gain(moving, other)
            try await deliver(items(&random), to: one)
            try take(try await replicas[one].lose(moving), from: one)
        case 3:
            // The store knows of the loss before its loop, which receives and ticks meanwhile.
            let change = replicas[one].store.lose(moving)
            let sent =
                try await replicas[one].owner.deliver(items(&random)) + replicas[one].owner.tick()
            for case .session(let key, let topic)? in sent.map({ Topic($0.topic) })
            where moving.contains(key.session.shard) { violations.append("\(topic) of \(key) published after a loss") }
            try take(sent, from: one)
            try take(try await replicas[one].owner.handle(.ownership(change)), from: one)
            try await gain(moving, other)
        case 7: replicas[one].store.refuse()
        case 4: replicas[one].store.failNextCommit(.beforeWriting)
        case 5:
            // Its last commit and some of its messages may have succeeded.
            if Bool.random(using: &random) { replicas[one].store.failNextCommit(.afterWriting) }
            replicas[one].owner.bus.limit(to: Int.random(in: 0...3, using: &random))
            try await deliver(items(&random), to: one)
            let orphaned = replicas[one].store.owned
            _ = replicas[one].store.lose(orphaned)
            replicas[one] = try await replica(clocks[one])
            try await gain(orphaned, Bool.random(using: &random) ? one : other)
        default:
            guard let index = workouts.indices.randomElement(using: &random),
                !ended.contains(workouts[index].script.key)
            else { break }
            let isEnd = Bool.random(using: &random)
            let state =
                isEnd
                ? workouts[index].script.change(.saving, workouts[index].segments)
                : workouts[index].script.change(.active, workouts[index].script.state.segments)
            if isEnd { ended.insert(workouts[index].script.key) }
            for replica in replicas.indices { try await deliver([state], to: replica) }
        }
    }

    private var isDone: Bool {
        workouts.allSatisfy { workout in
            ended.contains(workout.script.key)
                && workout.streams.allSatisfy {
                    next[ackTopic(workout, $0.key), default: 0] >= $0.value.count
                }
        }
    }

    /// Runs until all items are acknowledged and returns the summaries and chunks without revisions and states.
    mutating func run(_ random: inout SeededRandom) async throws -> [String] {
        for workout in workouts {
            for replica in replicas.indices {
                try await deliver([workout.script.stateMessage], to: replica)
            }
        }
        while !isDone {
            // Items leave the journal in some of the pauses.
            let seconds = Int.random(in: 0..<12, using: &random) == 0 ? Int.random(in: 10...80, using: &random) : 0
            for replica in replicas.indices { clocks[replica].advance(by: .milliseconds(700 + seconds * 1_000)) }
            if Int.random(in: 0..<3, using: &random) == 0 { try await hazard(&random) }
            let messages = items(&random)
            for replica in replicas.indices {
                if Bool.random(using: &random) { replicas[replica].store.accept() }
                try await deliver(messages, to: replica)
                try await tick(replica)
                if Bool.random(using: &random),
                    let index = replicas[replica].owner.jobs.indices.randomElement(using: &random)
                {
                    await replicas[replica].owner.runJob(index)
                }
                if Bool.random(using: &random), !replicas[replica].owner.ends.isEmpty { try await endJob(replica) }
            }
        }
        for replica in replicas.indices {
            replicas[replica].store.accept()
            for _ in 0..<3 {
                clocks[replica].advance(by: .seconds(11))
                try await tick(replica)
                try await runJobs(replica)
            }
        }
        try await requestChunks()
        return try results()
    }

    /// The same without faults, on one replica.
    mutating func runQuietly() async throws -> [String] {
        for index in workouts.indices {
            try await deliver([workouts[index].script.stateMessage], to: 0)
            for (device, items) in workouts[index].streams {
                for first in stride(from: 0, to: items.count, by: 100) {
                    let part = Array(items[first..<min(first + 100, items.count)])
                    try await deliver([batch(workouts[index].script, device, first, part)], to: 0)
                }
            }
            try await deliver([workouts[index].script.change(.saving, workouts[index].segments)], to: 0)
        }
        try await tick(0)
        try await requestChunks()
        return try results()
    }

    private mutating func runJobs(_ replica: Int) async throws {
        while !replicas[replica].owner.jobs.isEmpty || !replicas[replica].owner.ends.isEmpty {
            try await endJob(replica)
        }
    }

    private mutating func endJob(_ replica: Int) async throws {
        jobCount += 1
        try take(try await replicas[replica].owner.endJob(), from: replica)
    }

    private mutating func requestChunks() async throws {
        for replica in replicas.indices {
            clocks[replica].advance(by: .seconds(6))
            try await deliver(workouts.map(\.script.chunkRequest), to: replica)
            try await tick(replica)
            try await runJobs(replica)
        }
    }

    private struct Report: Decodable {
        let revision: Int64
        let state: Int64
        let chunks: Int
    }

    private func results() throws -> [String] {
        try workouts.flatMap { workout -> [String] in
            let key = workout.script.key
            guard let summary = broker[.session(key, Work.kind.summary)] else {
                return ["\(key): none"]
            }
            let report = try JSONCoding.decode(Report.self, from: summary.payload)
            let isCurrent = report.state == workout.script.state.revision
            let final = (0..<report.chunks).map {
                chunks[Topic.session(key, Work.kind.chunk($0)).name]
            }
            return ([summary] + final).map { message in
                String(decoding: message?.payload ?? [], as: UTF8.self)
                    .replacing("\"revision\":\(report.revision)", with: "current: \(isCurrent)")
                    .replacing("\"state\":\(report.state)", with: "")
            }
        }
    }
}
