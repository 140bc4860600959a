import Bus
import MQTT
import Storage
import TestSupport
import Testing
import Workouts

@testable import ServiceKit

/// The presences of replicas that share the shards of one database.
@Suite(.enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(60))) struct PresenceSharingTests {
    private static let name = "session-engine"

    private let clock = ManualClock()
    private let broker = InMemoryBroker()

    /// A process that owns shards and does nothing else.
    private struct Replica {
        let configuration: ServiceConfiguration
        let link: CuttingLink
        let bus: InMemoryBus
        let store: PostgresStore
        let serving: Task<Void, any Error>

        var topic: String { Topic.presence(service: PresenceSharingTests.name, configuration.instance).name }

        /// Ends like SIGKILL: from one moment on neither broker nor database hears of it.
        func kill() {
            bus.cut()
            link.close()
            serving.cancel()
        }
    }

    private func start(_ server: PostgresServer, _ database: String) throws -> Replica {
        let configuration = ServiceConfiguration(name: Self.name, instance: .unique(prefix: "host"))
        let link = try CuttingLink(to: server.port)
        let store = try PostgresStore(
            PostgresAddress(server.url(database, port: link.port)),
            schema: StoreSchema(service: Self.name, steps: [[StoreCollection("sessions")]]), plan: .balanced)
        let bus = broker.client()
        var context = ServiceContext(configuration: configuration, logger: .silent, bus: bus, clock: clock)
        context.presence = Presence(configuration: configuration, clock: clock, bus: bus)
        let serving = Task { [context] in
            try await context.serve(store: store, subscriptions: { _ in [] }) { event in
                if case .batch(let batch) = event { batch.finish() }
            }
        }
        return Replica(configuration: configuration, link: link, bus: bus, store: store, serving: serving)
    }

    private func presence(_ replica: Replica) -> Presence.Payload? {
        broker.retained(replica.topic).flatMap { try? JSONCoding.decode(Presence.Payload.self, from: $0.payload) }
    }

    private func shards(_ replica: Replica) -> Set<Shard> {
        presence(replica).flatMap { ShardSelection($0.shards) }?.shards ?? []
    }

    private func pass(_ seconds: Int) async throws {
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(seconds))
        try await clock.waitForSleepers()
    }

    @Test func `replicas publish disjoint shards that cover all, and the survivor clears a killed one after an hour`()
        async throws
    {
        let server = try await PostgresServer.shared
        let database = try await server.createDatabase()
        var replicas = [try start(server, database), try start(server, database)]
        let areShared = await eventually {
            let (one, other) = (shards(replicas[0]), shards(replicas[1]))
            return one.count == 128 && other.count == 128 && one.isDisjoint(with: other)
        }
        #expect(areShared)

        var random = SeededRandom()
        let killed = replicas.remove(at: Int.random(in: 0...1, using: &random))
        let survivor = replicas[0]
        killed.kill()
        // As the broker does for a lost connection.
        try await broker.client().publish(Presence.will(killed.configuration, at: clock.now))
        let coversAll = await eventually { shards(survivor) == Set(Shard.all) }
        #expect(coversAll && presence(killed)?.status == .offline)

        try await pass(3_500)
        #expect(presence(killed)?.status == .offline)
        // The hour begins when the owner of shard 00 receives it.
        let isCleared = try await eventually {
            try await pass(100)
            return broker.retained(killed.topic) == nil
        }
        #expect(isCleared && presence(survivor)?.status == .online)
        survivor.serving.cancel()
        for replica in [survivor, killed] {
            await replica.store.close()
            replica.link.close()
        }
    }
}
