import Bus
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

/// One replica of a service, its clients, a broker and a database, with random faults or without faults.
struct Storm<Service: StormService> {
    let database = MemoryDatabase()
    let world: StormWorld
    let clock = ManualClock()
    private let scripts: [StormScript]
    private let shards: Set<Shard>
    private var service: Service
    private var store: MemoryStore
    /// The next step of each script.
    private var next: [Int]
    private var retained: [String: MQTTMessage] = [:]
    /// The messages from the broker to the service.
    private var inbound: [MQTTMessage] = []
    private var isConnected = true

    init() async throws {
        scripts = Service.scripts(at: clock.now - 3_600)
        next = scripts.map { _ in 0 }
        shards = Set(scripts.compactMap { Service.shard(of: .session($0.key, .state)) })
        world = StormWorld(
            stored: { [database] in try Service.stored(database) }, shard: { Service.shard(of: $0) })
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
            switch Int.random(in: 0..<20, using: &random) {
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
            default:
                let open = scripts.indices.filter { step($0) != nil }
                if let index = open.randomElement(using: &random) { play(index) }
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
            guard let index = scripts.indices.first(where: { step($0) != nil }) else { return }
            play(index)
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
    }

    // MARK: Clients and broker

    private func step(_ index: Int) -> StormScript.Step? {
        next[index] < scripts[index].steps.count ? scripts[index].steps[next[index]] : nil
    }

    /// Does the next step of a script, or repeats it.
    private mutating func play(_ index: Int) {
        switch step(index) {
        case .send(_, let message)?: inbound.append(message)
        case .retain(let message)?:
            retained[message.topic] = message
            inbound.append(message)
            next[index] += 1
        case nil: break
        }
    }

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

    private mutating func take() {
        for message in world.take() {
            if message.retain { retained[message.topic] = message.payload.isEmpty ? nil : message }
            inbound += Service.answers(to: message, scripts)
            switch Topic(message.topic) {
            case .user(_, .replies)?:
                let reply = try? JSONCoding.decode(Reply.self, from: message.payload)
                for index in scripts.indices {
                    if case .send(let id, _)? = step(index), id == reply?.id { next[index] += 1 }
                }
            // The service is subscribed to its own retained topics.
            case .session?, .user?: if message.retain { inbound.append(message) }
            case .presence?, .rejected?, nil: break
            }
        }
    }

    private mutating func connect() async throws {
        take()
        inbound = retained.values.sorted { $0.topic < $1.topic }
        isConnected = true
        world.connect(true)
        try await service.handle(.connected)
    }

    // MARK: Faults

    private mutating func gain(_ shards: Set<Shard>) async throws {
        guard !shards.isEmpty else { return }
        world.disown(shards)
        try await service.handle(.ownership(.lost(shards)))
        let change = store.gain(shards)
        world.own(shards)
        try await service.handle(.ownership(change))
        guard isConnected else { return }
        inbound += retained.values.sorted { $0.topic < $1.topic }
        try await service.handle(.announce(shards))
    }

    private mutating func lose(_ shards: Set<Shard>, _ change: OwnershipChange) async throws {
        // A release is handled while the shards are owned.
        if case .lost = change { world.disown(shards) }
        try await service.handle(.ownership(change))
        world.disown(shards)
    }

    /// Kills the process and starts another.
    private mutating func restart() async throws {
        world.disown(shards)
        _ = store.lose(store.owned)
        (service, store) = try Self.start(database, world, clock)
        try await gain(shards)
        try await connect()
    }
}
