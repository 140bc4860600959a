import TestSupport

@testable import Formats
@testable import Workouts

/// A workout and its rows before they are cut into chunks.
struct WorkoutRows {
    var workout: WorkoutRecord
    let series: Series
    let track: Track
}

extension SeededRandom {
    /// Rows in order of time, with pauses, laps, equal times and bounds that several things share.
    mutating func workoutRows() throws -> WorkoutRows {
        var workout = try PlayedWorkout(Recording(Activity.allCases.randomElement(using: &self)!)).workout
        let (measured, located) = (rowTimes(), rowTimes())
        let bounds = (measured + located + rowTimes()).shuffled(using: &self)
        let cuts = bounds.prefix(2 * Int.random(in: 0...4, using: &self)).sorted()
        workout.segments = stride(from: 0, to: cuts.count - 1, by: 2).map {
            Segment(start: cuts[$0], end: cuts[$0 + 1])
        }
        workout.startedAt = chance(4) ? nil : cuts.first
        workout.endedAt = chance(4) ? nil : cuts.last
        let laps = (bounds.suffix(3) + cuts).filter { _ in chance(2) }.sorted()
        workout.laps = laps.indices.map { index in
            MetricsSummary.Lap(
                startedAt: laps[index], endedAt: index + 1 < laps.count ? laps[index + 1] : laps[index] + 60,
                duration: 60, distance: value(), activeEnergy: value(), averageHeartRate: value(),
                maximumHeartRate: value())
        }
        workout.maximumSpeed = value()
        let quantities = Quantity.allCases.filter { _ in chance(3) }
        let kinds = Track.Kind.allCases.filter { $0 == .latitude || $0 == .longitude || !chance(3) }
        return WorkoutRows(
            workout: workout,
            series: Series(
                times: measured,
                columns: quantities.map { quantity in
                    Series.Column(quantity: quantity, lists: measured.map { _ in values(quantity) })
                }),
            track: Track(
                times: located,
                columns: kinds.map { kind in Track.Column(kind: kind, values: located.map { _ in value() }) }))
    }

    private mutating func rowTimes() -> [Timestamp] {
        var time = Recording.begin + Double(Int.random(in: 0...2, using: &self))
        return (0..<Int.random(in: 0...60, using: &self)).map { _ in
            time = time + [0, 0.001, 0.25, 0.5, 1, 1, 1, 1, 1, 20].randomElement(using: &self)!
            return time
        }
    }

    private mutating func values(_ quantity: Quantity) -> [Double] {
        if !quantity.isList { return value().map { [$0] } ?? [] }
        return (0..<Int.random(in: 0...4, using: &self)).map { _ in Double.random(in: 300...1_500, using: &self) }
    }

    private mutating func value() -> Double? {
        chance(3) ? nil : (Double.random(in: -10...180, using: &self) * 1_000).rounded() / 1_000
    }

    private mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &self) == 0 }
}
