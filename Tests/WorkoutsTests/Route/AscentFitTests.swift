import TestSupport
import Testing

@testable import Workouts

/// The parameters of ``Climb``, against the total ascent of recordings with one.
@Suite struct AscentFitTests {
    /// An ascent that a device counted, in whole metres.
    private struct Total {
        let name: String
        let time: ClosedRange<Timestamp>?
        let ascent: Double

        /// The part of the total by which an ascent misses the range that rounds to it.
        func error(_ found: Double) -> Double {
            let rounded = min(max(found, ascent - 0.5), ascent + 0.5)
            return (found - rounded) / ascent
        }
    }

    private struct Recording {
        let route: RecordedRoute
        let total: Total
        /// The laps with a total of some metres; without any, the whole recording.
        let observations: [Total]

        private static let smallestLap = 20.0

        init?(_ name: String, _ activity: Activity) throws {
            guard let route = try RecordedRoute(name, activity), let ascent = route.ascent else { return nil }
            self.route = route
            total = Total(name: name, time: nil, ascent: ascent)
            let laps = route.laps.enumerated().filter { $0.element.ascent >= Self.smallestLap }.map { index, lap in
                Total(name: "\(name) lap \(index + 1)", time: lap.time, ascent: lap.ascent)
            }
            observations = laps.isEmpty ? [total] : laps
        }

        func errors(_ totals: [Total], _ parameters: Climb.Parameters) -> [Double] {
            var climb = Climb(parameters)
            var ascents = totals.map { _ in 0.0 }
            var segment: Timestamp?
            for location in route.locations {
                guard let time = location.time, let altitude = location.altitude,
                    let start = route.segments.segment(containing: time)?.start
                else { continue }
                if start != segment { climb.startLine() }
                segment = start
                let ascent = climb.add(altitude, at: time.microseconds).ascent
                for (index, total) in totals.enumerated() where total.time?.contains(time) ?? true {
                    ascents[index] += ascent
                }
            }
            return zip(totals, ascents).map { $0.error($1) }
        }

        func errors(_ parameters: Climb.Parameters) -> [Double] { errors(observations, parameters) }
    }

    /// The recordings with altitudes and the device's ascent. The lap of `walk-700m.fit` has one, of 1,096 m, and its
    /// records are of 733 m; `run-8km.gpx` and `four-activities.tcx` have altitudes and no ascent.
    private func recordings() throws -> [Recording] {
        try [("ride-39km-with-pauses.fit", Activity.cycling), ("run-5km.fit", .running)]
            .compactMap { try Recording($0, $1) }
    }

    /// Small hills count, the noise of a sensor does not, and the hysteresis is that of GoldenCheetah. The smoother of
    /// two comes first.
    private static func grid(hysteresis: Double = 3) -> [Climb.Parameters] {
        [15.0, 10, 8, 6, 5, 4, 3, 2].flatMap { smoothing in
            [10.0, 6, 0].map { forNoise in
                Climb.Parameters(smoothing: smoothing, smoothingForNoise: forNoise, hysteresis: hysteresis)
            }
        }.filter { parameters in
            Hills.isClose(Hills.ascent(Hills.small, parameters))
                && Hills.noises.allSatisfy { Hills.ascent($0, parameters) < Hills.noiseLimit }
        }
    }

    /// The parameters with the least worst error; of those within a tenth of a percent, the smoothest.
    private static func best(_ grid: [Climb.Parameters], for recordings: [Recording]) -> Climb.Parameters? {
        let worst = grid.map { parameters in recordings.flatMap { $0.errors(parameters) }.map(abs).max() ?? 0 }
        return zip(grid, worst).first { $0.1 <= (worst.min() ?? 0) + 0.001 }?.0
    }

    @Test func `ascent matches the devices' totals, also of recordings that the parameters do not come from`() throws {
        let recordings = try recordings()
        guard recordings.count > 1 else { return }
        func text(_ errors: [Double]) -> String {
            errors.map { "\(($0 * 1_000).rounded() / 10) %" }.joined(separator: ", ")
        }
        func median(_ errors: [Double]) -> Double {
            let sorted = errors.map(abs).sorted()
            return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        }
        print("ascent, \(Climb.Parameters())")
        for recording in recordings {
            print("  \(recording.total.name): \(text(recording.errors([recording.total], Climb.Parameters())))")
            print("    \(recording.observations.map(\.name)): \(text(recording.errors(Climb.Parameters())))")
        }
        let errors = recordings.flatMap { $0.errors([$0.total], Climb.Parameters()) }
        #expect(median(errors) <= 0.08 && errors.allSatisfy { abs($0) <= 0.2 })
        let fitted = try #require(Self.best(Self.grid(), for: recordings))
        #expect(fitted == Climb.Parameters())

        // Each recording with the parameters that fit the others best.
        var (totals, observations) = ([Double](), [Double]())
        for (index, left) in recordings.enumerated() {
            let others = recordings.indices.filter { $0 != index }.map { recordings[$0] }
            for hysteresis in [2.0, 3, 4] {
                guard let best = Self.best(Self.grid(hysteresis: hysteresis), for: others) else { continue }
                let (total, parts) = (left.errors([left.total], best), left.errors(best))
                print("  left out \(left.total.name): \(text(total)); \(text(parts)) with \(best)")
                guard hysteresis == Climb.Parameters().hysteresis else { continue }
                totals += total
                observations += parts
            }
        }
        print("  left out, median \(text([median(totals)])) of totals, \(text([median(observations)])) with laps")
        #expect(median(totals) <= 0.08 && totals.allSatisfy { abs($0) <= 0.2 })
        // The ride's first lap has 80 m by its device, and hills of 5 m and more in its altitudes have 96 m.
        #expect(median(observations) <= 0.08 && observations.count { abs($0) > 0.2 } <= 1)
        #expect(observations.allSatisfy { abs($0) <= 0.27 })
    }

    @Test func `small hills count and the noise of a sensor does not`() throws {
        #expect(Hills.isClose(Hills.ascent(Hills.small)))
        for noise in Hills.noises { #expect(Hills.ascent(noise) < Hills.noiseLimit, "seed \(Hills.seed)") }
    }

    @Test func `a jump of the sensor is no ascent`() {
        var climb = Climb()
        let total = (0..<600).reduce(0.0) { sum, second in
            sum + climb.add(second == 100 ? 2_000 : second < 300 ? 500 : 600, at: Int64(second) * 1_000_000).ascent
        }
        #expect(total == 0)
    }
}

/// An hour of invented altitudes, one a second.
private enum Hills {
    static let noiseLimit = 15.0
    static let seed = SeededRandom("AscentFitTests").seed

    /// 60 hills of 6 m, one each minute, by a barometer of 0.2 m.
    static let small = (0..<3_600).map { second in
        let phase = Double(second % 60) / 60
        return ((500 + 6 * (phase < 0.5 ? 2 * phase : 2 - 2 * phase)) * 5).rounded() / 5
    }

    static let noises: [[Double]] = {
        var random = SeededRandom(seed: seed)
        return [0.5, 1, 2, 3].map { noise in (0..<3_600).map { _ in 500 + random.normal(noise) } }
    }()

    static func isClose(_ ascent: Double) -> Bool { abs(ascent - 360) < 90 }

    static func ascent(_ altitudes: [Double], _ parameters: Climb.Parameters = Climb.Parameters()) -> Double {
        var climb = Climb(parameters)
        return altitudes.enumerated().reduce(0) {
            $0 + climb.add($1.element, at: Int64($1.offset) * 1_000_000).ascent
        }
    }
}
