import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// Replicas that share all shards, and the broker between them.
struct SharedRuns {
    let clock: ManualClock
    private(set) var replicas: [Runs] = []
    private var stores: [MemoryStore] = []
    /// Frozen replicas.
    var stopped: Set<Int> = []
    private(set) var broker = BrokerModel()

    init(_ count: Int, clock: ManualClock) async throws {
        self.clock = clock
        let database = MemoryDatabase()
        for index in 0..<count {
            stores.append(database.replica())
            stores[index].gain(Set(Shard.all.filter { Int($0.value) % count == index }))
            replicas.append(try await Runs(stores[index], clock: clock, isSettled: false))
        }
        for index in replicas.indices { try await exchange(try await replicas[index].connect()) }
        clock.advance(by: .seconds(RunFeed.grace))
        // Each shard of a new store is examined in a tick.
        try await pass(30)
    }

    func owner(of shard: Shard) -> Int? { stores.firstIndex { $0.owned.contains(shard) } }

    /// Delivers messages to all replicas, then what these send, until they send nothing more.
    @discardableResult
    mutating func exchange(_ messages: [MQTTMessage]) async throws -> [MQTTMessage] {
        var (sent, next): ([MQTTMessage], [MQTTMessage]) = ([], messages)
        while !next.isEmpty {
            broker.publish(next)
            let current = next
            next = []
            for index in replicas.indices where !stopped.contains(index) {
                next += try await replicas[index].deliver(current)
            }
            sent += next
        }
        return sent
    }

    /// Lets seconds pass, a tick in each tenth, and returns the sent messages.
    @discardableResult
    mutating func pass(_ seconds: Double) async throws -> [MQTTMessage] {
        var sent: [MQTTMessage] = []
        for _ in 0..<max(1, Int((seconds * 10).rounded())) {
            clock.advance(by: .milliseconds(100))
            var ticked: [MQTTMessage] = []
            for index in replicas.indices where !stopped.contains(index) {
                ticked += try await replicas[index].tick()
            }
            sent += ticked + (try await exchange(ticked))
        }
        return sent
    }

    /// Lets seconds pass with few ticks.
    mutating func skip(_ seconds: Double) async throws {
        clock.advance(by: .seconds(seconds))
        try await pass(3)
    }

    /// Sends a request of a user and returns the sent messages.
    @discardableResult
    mutating func request(_ user: User, _ run: RunID?, _ action: VirtualRunRequest.Action) async throws -> [MQTTMessage]
    {
        let request = VirtualRunRequest(id: CommandID(UUID()), client: Client("phone-1")!, run: run, action: action)
        return try await exchange([Topic.user(user, .virtualRunRequest).message(JSONCoding.encode(request))])
    }

    /// Moves shards from their owners to a replica, to which the broker then sends what it retains.
    mutating func move(_ shards: Set<Shard>, to index: Int) async throws {
        for other in replicas.indices where other != index {
            let lost = shards.intersection(stores[other].owned)
            guard !lost.isEmpty else { continue }
            let change = stores[other].lose(lost)
            if !stopped.contains(other) { try await replicas[other].loop.handle(.ownership(change)) }
        }
        let gained = shards.subtracting(stores[index].owned)
        try await replicas[index].loop.handle(.ownership(stores[index].gain(gained)))
        try await replicas[index].loop.handle(.announce(gained))
        try await exchange(replicas[index].bus.take() + (try await replicas[index].deliver(broker.retained)))
    }

    /// Sends a request that must be accepted.
    @discardableResult
    mutating func accept(_ user: User, _ run: RunID?, _ action: VirtualRunRequest.Action) async throws -> [MQTTMessage]
    {
        let sent = try await request(user, run, action)
        if let error = try #require(sent.replies(to: user).first).error { throw error }
        return sent
    }

    /// The code with which a request is refused.
    mutating func refusal(_ user: User, _ run: RunID?, _ action: VirtualRunRequest.Action) async throws -> String? {
        try await request(user, run, action).replies(to: user).first?.error?.code
    }

    /// A run as its owner has it.
    func run(_ id: RunID) -> Run? { owner(of: id.shard).flatMap { replicas[$0].run(id) } }

    /// Lets a replica handle a request and end before it sends anything.
    mutating func end(_ index: Int, handling user: User, _ action: VirtualRunRequest.Action) async throws {
        try await replicas[index].accept(user, nil, action)
        stopped.insert(index)
    }

    /// A user of a replica.
    func newUser(of index: Int) -> User {
        (0...).lazy.map { User("user-\($0)")! }.first { owner(of: $0.shard) == index }!
    }

    /// A run of a replica.
    func newRun(of index: Int) -> RunID {
        while true {
            let id = RunID(UUID())
            if owner(of: id.shard) == index { return id }
        }
    }

    func people(_ user: User) throws -> RunPeople? {
        try payload(.user(user, .virtualRunPeople)).map { try JSONCoding.decode(RunPeople.self, from: $0) }
    }

    func view(_ run: RunID, _ user: User) throws -> VirtualRunView? {
        try payload(.user(user, .virtualRun(run))).map { try JSONCoding.decode(VirtualRunView.self, from: $0) }
    }

    private func payload(_ topic: Topic) -> ArraySlice<UInt8>? { broker[topic]?.payload }
}
