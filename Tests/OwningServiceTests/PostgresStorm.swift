import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

/// Replicas of a service on one database in PostgreSQL, their clients and a broker.
///
/// Shards move only because the test starts, ends and expels replicas: leases outlast it, however slow the machine is. The
/// service receives a change of ownership later than the store.
struct PostgresStorm<Service: StormService> {
    private static var lease: Duration { .seconds(100_000) }
    private static var replicaLimit: Int { 3 }

    let database: StormDatabase
    private let clock = ManualClock()
    private let published = PublishedRevisions()
    private let shards: Set<Shard>
    private var broker: StormBroker<Service>
    private var replicas: [StormReplica<Service>] = []
    private(set) var violations: Set<String> = []

    init() async throws {
        broker = StormBroker(at: clock.now - 3_600)
        shards = broker.shards
        database = try await StormDatabase(Service.schema)
        try await start()
        try await start()
    }

    /// Plays all scripts between faults, then ends the faults and finishes the scripts.
    mutating func rage(_ random: inout SeededRandom, rounds: Int) async throws {
        for _ in 0..<rounds {
            let index = Int.random(in: replicas.indices, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0: if replicas.count < Self.replicaLimit { try await start() }
            case 1: if replicas.count > 1 { try await end(index) }
            case 2:
                if let shard = shards.randomElement(using: &random) { try database.expelOwner(of: shard) }
                try await awaitOwners()
            case 3: replicas[index].link.cut()
            case 4: replicas[index].link.set(.cut(after: Int.random(in: 0...4_000, using: &random)))
            case 5: replicas[index].link.set(.swallow(after: Int.random(in: 0...400, using: &random)))
            case 6: try await replicas[index].disconnect()
            case 7, 8: try await replicas[index].connect(broker.retained)
            case 9, 10:
                clock.advance(by: .milliseconds(Int.random(in: 0...1_500, using: &random)))
                try await replicas[index].tick()
            default:
                if let index = broker.open.randomElement(using: &random) { deliver(broker.play(index)) }
            }
            for replica in replicas {
                if Bool.random(using: &random) { try await replica.handleChanges(broker.retained) }
                if Bool.random(using: &random) { try await replica.confirm() }
            }
            if Bool.random(using: &random) { try await exchange() }
        }
        for replica in replicas {
            replica.link.repair()
            try await replica.connect(broker.retained)
        }
        try await finishScripts()
        try await settle()
    }

    /// Closes all replicas.
    mutating func close() async throws {
        while !replicas.isEmpty { try await end(0) }
    }

    /// Plays the remaining steps of the scripts.
    private mutating func finishScripts() async throws {
        for _ in 0..<500 {
            guard let index = broker.open.first else { return }
            try await gather()
            deliver(broker.play(index))
            try await pass()
        }
        Issue.record("a message has no reply")
    }

    /// Advances the clock until nothing changes.
    private mutating func settle() async throws {
        for _ in 0..<300 {
            try await gather()
            try await pass()
        }
        for replica in replicas { try await replica.finish() }
    }

    private mutating func pass() async throws {
        clock.advance(by: .milliseconds(500))
        for replica in replicas { try await replica.tick() }
        try await exchange()
    }

    // MARK: Replicas

    private mutating func start() async throws {
        let replica = try StormReplica<Service>(database, clock: clock, published: published, lease: Self.lease)
        replicas.append(replica)
        try await replica.begin()
        try await replica.connect(broker.retained)
    }

    /// Ends a replica, whose shards move to the others.
    private mutating func end(_ index: Int) async throws {
        let replica = replicas.remove(at: index)
        await replica.close()
        violations.formUnion(replica.world.violations)
        if !replicas.isEmpty { try await awaitOwners() }
    }

    /// Returns when each shard has an owner in the database. No service has handled that.
    private mutating func awaitOwners() async throws {
        let areOwned = try await eventually { try database.ownedCount(of: shards) == shards.count }
        #expect(areOwned, "shards without an owner")
    }

    /// Returns when a service has each shard.
    private mutating func gather() async throws {
        let isComplete = try await eventually {
            for replica in replicas {
                try await replica.handleChanges(broker.retained)
                try await replica.confirm()
            }
            try await exchange()
            return replicas.reduce(into: Set<Shard>()) { $0.formUnion($1.owned) }.isSuperset(of: shards)
        }
        #expect(isComplete, "shards without a service")
    }

    // MARK: Broker

    private func deliver(_ messages: [MQTTMessage]) {
        for replica in replicas where replica.isConnected { replica.inbound += messages }
    }

    /// The broker accepts the sent messages and delivers its own.
    private mutating func exchange() async throws {
        for _ in 0..<1_000 {
            accept()
            guard let replica = replicas.first(where: { !$0.inbound.isEmpty }) else { return }
            try await replica.receive()
        }
        Issue.record("the service and the broker exchange messages without end")
    }

    private mutating func accept() {
        for replica in replicas { deliver(broker.accept(replica.world.take())) }
    }
}
