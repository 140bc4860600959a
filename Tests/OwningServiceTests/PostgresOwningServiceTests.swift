import Foundation
import TestSupport
import Testing

/// The same guarantees on PostgreSQL, while replicas join, leave, are expelled and lose their connections.
@Suite(
    .enabled(if: PostgresServer.isInstalled),
    .enabled(if: Tier.isNightly, "takes minutes, without NIGHTLY=1"),
    .timeLimit(.minutes(60))
)
struct PostgresOwningServiceTests {
    private func test<Service: StormService>(_ type: Service.Type, name: String = #function) async throws {
        var random = SeededRandom(name)
        var calm = try await Storm<Service>()
        try await calm.calm()
        var storm = try await PostgresStorm<Service>()
        try await storm.rage(&random, rounds: 80)
        let outcome = try Service.stored(storm.database.disk).outcome
        try await storm.close()
        #expect(storm.violations == [], "seed \(random.seed)")
        #expect(try outcome == Service.stored(StormDisk(calm.database)).outcome, "seed \(random.seed)")
    }

    @Test func `session-engine keeps its guarantees on PostgreSQL`() async throws {
        try await test(EngineStorm.self)
    }

    @Test func `metrics-aggregator keeps its guarantees on PostgreSQL`() async throws {
        try await test(StreamStorm<SampleStormItems>.self)
    }

    @Test func `route-builder keeps its guarantees on PostgreSQL`() async throws {
        try await test(StreamStorm<LocationStormItems>.self)
    }

    @Test func `weather-fetcher keeps its guarantees on PostgreSQL`() async throws {
        try await test(WeatherStorm.self)
    }

    @Test func `live-activity-publisher keeps its guarantees on PostgreSQL`() async throws {
        try await test(LiveActivityStorm.self)
    }

    @Test func `exporter keeps its guarantees on PostgreSQL`() async throws {
        try await test(ExporterStorm.self)
    }

    @Test func `virtual-run keeps its guarantees on PostgreSQL`() async throws {
        try await test(VirtualRunStorm.self)
    }

    @Test func `importer keeps its guarantees on PostgreSQL`() async throws {
        try await test(ImporterStorm.self)
    }
}
