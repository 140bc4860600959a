import Bus
import MQTT
import Streams
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import RouteBuilder

/// Summaries, series and tracks do not depend on moves of shards between two replicas whose clocks differ.
@Suite(.timeLimit(.minutes(60))) struct StreamHandoverTests {
    private static let start = 1_700_000_000.0
    private let clock = ManualClock(now: Timestamp(seconds: start + 700))

    /// Plays three workouts on one replica, and on two with faults.
    private func compare<Work: StreamWork>(
        _ work: Work.Type, _ segments: [Segment], _ batch: @escaping HandoverStorm<Work>.Batch,
        name: String = #function,
        streams: (inout SeededRandom) -> [String: [Work.Item]]
    ) async throws {
        var random = SeededRandom(name)
        var jobCount = 0
        for round in 0..<Tier.runs(6, nightly: 15) {
            let workouts = (0..<3).map { _ in
                HandoverStorm<Work>.Workout(Script(start: Self.start), streams(&random), segments)
            }
            let skew = Double.random(in: -20...20, using: &random)
            // In two of three rounds most folds and summaries are jobs.
            var bounds = StreamBounds()
            if round % 3 > 0 { bounds.manyItems = Int.random(in: 0...200, using: &random) }
            var quiet = try await HandoverStorm(workouts, start: clock.now, skew: skew, batch: batch)
            var stormy = try await HandoverStorm(workouts, start: clock.now, skew: skew, bounds: bounds, batch: batch)
            let expected = try await quiet.runQuietly()
            #expect(try await stormy.run(&random) == expected, "seed \(random.seed), round \(round)")
            #expect(stormy.violations == [], "seed \(random.seed), round \(round)")
            jobCount += stormy.jobCount
        }
        #expect(jobCount > 6)
    }

    private func segment(_ from: Double, _ to: Double) -> Segment {
        Segment(start: Timestamp(seconds: Self.start + from), end: Timestamp(seconds: Self.start + to))
    }

    @Test func `summaries and series do not depend on moves of shards`() async throws {
        let batch: HandoverStorm<SampleWork>.Batch = { $0.batch($1, $2, $3) }
        try await compare(SampleWork.self, [segment(0, 599)], batch) { random in
            var streams: [String: [Sample]] = [:]
            for device in ["watch-1", "strap-1"].prefix(Int.random(in: 1...2, using: &random)) {
                streams[device] = (0..<Int.random(in: 100...500, using: &random)).map { second in
                    var sample = Sample(time: Timestamp(seconds: Self.start + Double(second)))
                    sample[.heartRate] = Double(Int.random(in: 90...180, using: &random))
                    sample[.distance] = Double(Int.random(in: 0...5, using: &random))
                    return sample
                }
            }
            return streams
        }
    }

    @Test func `summaries and tracks do not depend on moves of shards`() async throws {
        func fixes(_ range: Range<Int>) -> [Location] {
            range.map { second in
                var location = Location(
                    time: Timestamp(seconds: Self.start + Double(second)),
                    latitude: 47 + 3 * Double(second) / 111_194.93, longitude: 8)
                location[.horizontalAccuracy] = 5
                return location
            }
        }
        let segments = [segment(0, 299), segment(400, 599)]
        let batch: HandoverStorm<RouteWork>.Batch = { $0.batch($1, $2, $3) }
        try await compare(RouteWork.self, segments, batch) { random in
            var streams = ["watch-1": fixes(0..<Int.random(in: 100...600, using: &random))]
            if Bool.random(using: &random) { streams["phone-1"] = fixes(50..<400) }
            return streams
        }
    }
}
