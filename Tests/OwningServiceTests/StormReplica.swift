import MQTT
import TestSupport
import Testing
import Workouts

@testable import ServiceKit
@testable import Storage

/// One of several replicas of a service on PostgreSQL. The test passes it each event.
final class StormReplica<Service: StormService> {
    let world: StormWorld
    /// All connections to the database.
    let link: CuttingLink
    /// The messages from the broker.
    var inbound: [MQTTMessage] = []
    private(set) var isConnected = false
    private let store: PostgresStore
    private let changes = Inbox<OwnershipChange>()
    private let reading: Task<Void, Never>
    private var service: Service
    private var handover = ShardHandover(owned: [])
    /// Changes of subscriptions that the broker has to confirm.
    private var unconfirmed = 0

    /// - Parameter lease: longer than the test.
    init(
        _ database: StormDatabase, clock: ManualClock, published: PublishedRevisions, lease: Duration
    ) throws {
        let link = try CuttingLink(to: database.server.port)
        let store = try PostgresStore(
            PostgresAddress(database.server.url(database.name, port: link.port)), schema: Service.schema,
            plan: Service.plan, lease: lease)
        let world = StormWorld(of: Service.self, database.disk, published: published) {
            try database.confirms($0, $1)
        }
        world.connect(false)
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: Service.name), logger: .silent, bus: world, clock: clock)
        service = try Service(context, StormStore(store: store, world: world))
        (self.link, self.store, self.world) = (link, store, world)
        reading = Task { [store, changes] in for await change in store.ownership { changes.add(change) } }
    }

    /// The shards that the service has gained and not lost, as far as it knows.
    var owned: Set<Shard> { handover.owned }

    /// Ends like a killed process, except that its shards need not wait for the end of a lease.
    func close() async {
        link.repair()
        await store.close()
        await reading.value
        link.close()
    }

    func finish() async throws { try await service.finish() }

    // MARK: Events

    /// Handles the first change, before the first connection.
    func begin() async throws {
        await changes.wait { !$0.isEmpty }
        let first = changes.take()
        guard case .gained(let epochs)? = first.first else { return }
        handover = ShardHandover(owned: Set(epochs.keys))
        try await handle(.ownership(.gained(epochs)))
        try await handle(Array(first.dropFirst()), [])
    }

    func tick() async throws { try await handle(.tick) }

    func connect(_ retained: [MQTTMessage]) async throws {
        guard !isConnected else { return }
        isConnected = true
        world.connect(true)
        inbound = retained
        handover.isConnected = true
        try await handle(.connected)
    }

    func disconnect() async throws {
        isConnected = false
        world.connect(false)
        inbound = []
        handover.isConnected = false
        try await handle(.disconnected)
    }

    /// Handles what the broker has sent.
    func receive() async throws {
        let batch = MQTTBatch(messages: inbound) {}
        inbound = []
        try await handle(.batch(batch))
    }

    /// Handles the changes of ownership so far.
    func handleChanges(_ retained: [MQTTMessage]) async throws { try await handle(changes.take(), retained) }

    private func handle(_ changes: [OwnershipChange], _ retained: [MQTTMessage]) async throws {
        for change in changes {
            for event in handover.apply(change) { try await handle(event) }
            unconfirmed += 1
            // The subscriptions of gained shards are renewed.
            if case .gained = change, isConnected { inbound += retained }
        }
    }

    /// The broker confirms all changes of the subscriptions.
    func confirm() async throws {
        while unconfirmed > 0 {
            unconfirmed -= 1
            guard let event = handover.subscribed() else { continue }
            try await handle(event)
            guard case .ownership(.releasing(let shards)) = event else { continue }
            world.disown(shards)
            await store.released(shards)
        }
    }

    private func handle(_ event: ServiceEvent) async throws {
        switch event {
        case .ownership(.gained(let epochs)): world.own(epochs)
        case .ownership(.lost(let shards)): world.disown(shards)
        default: break
        }
        // A failed read repeats the event.
        let isHandled = try await eventually {
            do {
                try await service.handle(event)
                return true
            } catch StoreError.notReadable {
                return false
            }
        }
        #expect(isHandled, "the store cannot be read")
    }
}
