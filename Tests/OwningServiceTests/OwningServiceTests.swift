import TestSupport
import Testing
import Workouts

/// The guarantees of every service that owns records, while its store refuses writes, loses and gains shards.
@Suite(.timeLimit(.minutes(60))) struct OwningServiceTests {
    private func test<Service: StormService>(_ type: Service.Type, runs: Int, name: String = #function) async throws {
        var random = SeededRandom(name)
        for _ in 0..<runs {
            var calm = try await Storm<Service>()
            try await calm.calm()
            #expect(calm.world.violations == [], "without a fault")
            var storm = try await Storm<Service>()
            try await storm.rage(&random, rounds: 150)
            #expect(storm.world.violations == [], "seed \(random.seed)")
            let expected = try Service.stored(StormDisk(calm.database)).outcome
            #expect(!expected.isEmpty)
            let outcome = try Service.stored(StormDisk(storm.database)).outcome
            #expect(outcome == expected, "seed \(random.seed)")
        }
    }

    @Test func `session-engine keeps its guarantees in any order of faults`() async throws {
        try await test(EngineStorm.self, runs: 10)
    }

    @Test func `metrics-aggregator keeps its guarantees in any order of faults`() async throws {
        try await test(StreamStorm<SampleStormItems>.self, runs: 5)
    }

    @Test func `route-builder keeps its guarantees in any order of faults`() async throws {
        try await test(StreamStorm<LocationStormItems>.self, runs: 5)
    }

    @Test func `weather-fetcher keeps its guarantees in any order of faults`() async throws {
        try await test(WeatherStorm.self, runs: 20)
    }

    @Test func `live-activity-publisher keeps its guarantees in any order of faults`() async throws {
        try await test(LiveActivityStorm.self, runs: 20)
    }

    @Test func `exporter keeps its guarantees in any order of faults`() async throws {
        try await test(ExporterStorm.self, runs: 20)
    }

    @Test func `virtual-run keeps its guarantees in any order of faults`() async throws {
        try await test(VirtualRunStorm.self, runs: 10)
    }

    @Test func `importer keeps its guarantees in any order of faults`() async throws {
        try await test(ImporterStorm.self, runs: 10)
    }
}
