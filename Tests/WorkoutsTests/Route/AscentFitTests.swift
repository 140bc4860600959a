import TestSupport
import Testing

@testable import Workouts

/// The parameters of ``Climb``, against the total ascent of recordings with one.
@Suite struct AscentFitTests {
    private struct Recording {
        let name: String
        let route: RecordedRoute
        let ascent: Double

        func error(_ parameters: Climb.Parameters) -> Double {
            var climb = Climb(parameters)
            var ascent = 0.0
            var segment: Timestamp?
            for location in route.locations {
                guard let time = location.time, let altitude = location.altitude,
                    let start = route.segments.segment(containing: time)?.start
                else { continue }
                if start != segment { climb.startLine() }
                segment = start
                ascent += climb.add(altitude, at: time.microseconds).ascent
            }
            return ascent / self.ascent - 1
        }
    }

    /// The recordings with altitudes whose total ascent covers the records: that of `walk-700m.fit` is of a lap of
    /// 1,096 m, and its records are of 733 m.
    private func recordings() throws -> [Recording] {
        try [("ride-39km-with-pauses.fit", Activity.cycling, 904.0), ("run-5km.fit", .running, 8)]
            .compactMap { name, activity, ascent in
                try RecordedRoute(name, activity).map { Recording(name: name, route: $0, ascent: ascent) }
            }
    }

    private static var grid: [Climb.Parameters] {
        [2.0, 3, 4, 5, 6, 8, 10, 15, 20, 30].flatMap { smoothing in
            [0.0, 6, 10].flatMap { forNoise in
                [1.0, 1.5, 2, 2.5, 3, 4].map { hysteresis in
                    Climb.Parameters(
                        smoothing: smoothing, smoothingForNoise: forNoise, hysteresis: hysteresis)
                }
            }
        }
    }

    @Test func `ascent matches the devices' totals`() throws {
        let recordings = try recordings()
        guard !recordings.isEmpty else { return }
        func text(_ error: Double) -> String { "\((error * 1_000).rounded() / 10) %" }
        let errors = recordings.map { $0.error(Climb.Parameters()) }
        print("ascent, \(Climb.Parameters())")
        for (recording, error) in zip(recordings, errors) { print("  \(recording.name): \(text(error))") }
        // Each recording with the parameters that fit the others best.
        for (index, left) in recordings.enumerated() {
            let others = recordings.indices.filter { $0 != index }.map { recordings[$0] }
            func worst(_ parameters: Climb.Parameters) -> Double { others.map { abs($0.error(parameters)) }.max() ?? 0 }
            guard let best = Self.grid.min(by: { worst($0) < worst($1) }) else { continue }
            print("  left out \(left.name): \(text(left.error(best))) with \(best)")
        }
        let sorted = errors.map(abs).sorted()
        let median = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        #expect(median <= 0.08 && sorted.allSatisfy { $0 <= 0.2 })
    }

    @Test func `small hills count and the noise of a sensor does not`() throws {
        func ascent(_ altitudes: [Double]) -> Double {
            var climb = Climb()
            return altitudes.enumerated().reduce(0) {
                $0 + climb.add($1.element, at: Int64($1.offset) * 1_000_000).ascent
            }
        }
        // 60 hills of 6 m, one each minute, by a barometer of 0.2 m.
        let hills = (0..<3_600).map { second in
            let phase = Double(second % 60) / 60
            return ((500 + 6 * (phase < 0.5 ? 2 * phase : 2 - 2 * phase)) * 5).rounded() / 5
        }
        #expect(abs(ascent(hills) - 360) < 90)
        var random = SeededRandom()
        for noise in [0.5, 1, 2, 3] {
            #expect(ascent((0..<3_600).map { _ in 500 + random.normal(noise) }) < 15, "seed \(random.seed)")
        }
    }

    @Test func `a jump of the sensor is no ascent`() {
        var climb = Climb()
        let total = (0..<600).reduce(0.0) { sum, second in
            sum + climb.add(second == 100 ? 2_000 : second < 300 ? 500 : 600, at: Int64(second) * 1_000_000).ascent
        }
        #expect(total == 0)
    }
}
