import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

/// One replica of a service, its clients, a broker and a database in memory, with random faults or without faults.
struct Storm<Service: StormService> {
    let database = MemoryDatabase()
    let world: StormWorld
    let clock = ManualClock()
    private let shards: Set<Shard>
    private var broker: StormBroker<Service>
    private var service: Service
    private var store: MemoryStore
    /// The messages from the broker to the service.
    private var inbound: [MQTTMessage] = []
    private var isConnected = true
    /// A loss that the service has yet to handle.
    private var unhandled: OwnershipChange?

    init() async throws {
        broker = StormBroker(at: clock.now - 3_600)
        // The owner of all has also users' shards.
        shards = Service.plan == .single ? Set(Shard.all) : broker.shards
        world = StormWorld(of: Service.self, StormDisk(database))
        (service, store) = try Self.start(database, world, clock)
        try await gain(shards)
        try await connect()
    }

    private static func start(
        _ database: MemoryDatabase, _ world: StormWorld, _ clock: ManualClock
    ) throws -> (Service, MemoryStore) {
        let store = database.replica()
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: Service.name), logger: .silent, bus: world, clock: clock)
        return (try Service(context, StormStore(store: store, world: world)), store)
    }

    // MARK: Runs

    /// Plays all scripts without faults.
    mutating func calm() async throws {
        try await finishScripts()
        try await settle()
    }

    /// Plays all scripts between faults, then ends the faults and finishes the scripts.
    mutating func rage(_ random: inout SeededRandom, rounds: Int) async throws {
        let rival = database.replica()
        for _ in 0..<rounds {
            let some = shards.filter { _ in Bool.random(using: &random) }
            if Bool.random(using: &random) { try await handleLoss() }
            switch Int.random(in: 0..<21, using: &random) {
            case 0: store.refuse()
            case 1, 2: store.accept()
            case 3: store.failNextCommit(.afterWriting)
            case 4: store.failNextCommit(.beforeWriting)
            case 5: try await lose(some, store.lose(some))
            case 6:
                try await lose(some, store.release(some))
                await store.released(some)
            // The service notices at its next commit, or when it gains the shards again.
            case 7: rival.gain(some)
            case 8, 9: try await gain(shards.subtracting(store.owned))
            case 10:
                world.connect(false)
                isConnected = false
                try await service.handle(.disconnected)
            case 11, 12: if !isConnected { try await connect() }
            case 13: try await restart()
            case 14, 15:
                clock.advance(by: .milliseconds(Int.random(in: 0...1_500, using: &random)))
                try await service.handle(.tick)
            case 16:
                try await handleLoss()
                world.silence(some)
                unhandled = store.lose(some)
            default:
                if let index = broker.open.randomElement(using: &random) { inbound += broker.play(index) }
            }
            if Bool.random(using: &random) { try await exchange() }
        }
        store.accept()
        try await gain(shards.subtracting(store.owned))
        try await connect()
        try await finishScripts()
        try await settle()
    }

    /// Plays the remaining steps of the scripts.
    private mutating func finishScripts() async throws {
        for _ in 0..<500 {
            guard let index = broker.open.first else { return }
            inbound += broker.play(index)
            clock.advance(by: .milliseconds(500))
            try await service.handle(.tick)
            try await exchange()
        }
        Issue.record("a message has no reply")
    }

    /// Advances the clock until nothing changes.
    private mutating func settle() async throws {
        for _ in 0..<300 {
            clock.advance(by: .milliseconds(500))
            try await service.handle(.tick)
            try await exchange()
        }
        try await service.finish()
    }

    // MARK: Broker

    /// The broker accepts the sent messages and delivers its own.
    private mutating func exchange() async throws {
        take()
        guard isConnected else {
            inbound = []
            return
        }
        for _ in 0..<1_000 where !inbound.isEmpty {
            let batch = MQTTBatch(messages: inbound) {}
            inbound = []
            try await service.handle(.batch(batch))
            take()
        }
        #expect(inbound.isEmpty, "the service and the broker exchange messages without end")
    }

    private mutating func take() { inbound += broker.accept(world.take()) }

    private mutating func connect() async throws {
        take()
        inbound = broker.retained
        isConnected = true
        world.connect(true)
        try await service.handle(.connected)
    }

    // MARK: Faults

    private mutating func gain(_ shards: Set<Shard>) async throws {
        try await handleLoss()
        guard !shards.isEmpty else { return }
        world.disown(shards)
        try await service.handle(.ownership(.lost(shards)))
        let change = store.gain(shards)
        if case .gained(let epochs) = change { world.own(epochs) }
        try await handle(change)
        guard isConnected else { return }
        inbound += broker.retained
        try await service.handle(.announce(shards))
    }

    private mutating func handleLoss() async throws {
        guard case .lost(let shards)? = unhandled, let change = unhandled else { return }
        unhandled = nil
        try await lose(shards, change)
    }

    private mutating func lose(_ shards: Set<Shard>, _ change: OwnershipChange) async throws {
        // A release is handled while the shards are owned.
        if case .lost = change { world.disown(shards) }
        try await handle(change)
        world.disown(shards)
    }

    /// A service repeats a change until it has read, and written, what it must.
    private mutating func handle(_ change: OwnershipChange) async throws {
        do {
            try await service.handle(.ownership(change))
        } catch StoreError.notReadable {
            store.accept()
            try await service.handle(.ownership(change))
        }
    }

    /// Kills the process and starts another.
    private mutating func restart() async throws {
        world.disown(shards)
        unhandled = nil
        _ = store.lose(store.owned)
        (service, store) = try Self.start(database, world, clock)
        try await gain(shards)
        try await connect()
    }
}
