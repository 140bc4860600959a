/// The best performances of a session: seconds, metres, watts and beats per minute, rounded to thousandths. A list
/// without entries is absent.
package struct Bests: Codable, Hashable, Sendable {
    /// The shortest elapsed time of a distance.
    package struct Distance: Codable, Hashable, Sendable {
        /// Metres.
        package var m: Double
        /// Seconds, pauses included.
        package var s: Double
        /// The active time at its beginning.
        package var t: Double
    }

    /// The highest mean power of a duration.
    package struct Power: Codable, Hashable, Sendable {
        package var s: Double
        package var w: Double
        /// The active time at its beginning.
        package var t: Double
    }

    /// The highest mean heart rate of a duration.
    package struct HeartRate: Codable, Hashable, Sendable {
        package var s: Double
        package var bpm: Double
        /// The active time at its beginning.
        package var t: Double
    }

    /// The heaviest set of an exercise, or the one with most repetitions.
    package struct ExerciseSet: Codable, Hashable, Sendable {
        package var exercise: String
        /// Kilograms.
        package var weight: Double?
        package var repetitions: Int?
    }

    /// Sorted by distance.
    package var distance: [Distance]?
    /// Sorted by duration.
    package var power: [Power]?
    package var heartRate: [HeartRate]?
    /// Of a plan; in the workout's record alone.
    package var sets: [ExerciseSet]?

    package init() {}

    /// `nil` if there are none.
    var nonEmpty: Bests? { self == Bests() ? nil : self }
}

/// The distances of an activity whose fastest time counts.
package struct BestDistances: Sendable {
    /// Metres, rising.
    package let lengths: [Double]
    /// A mean speed in m/s above which a time is an error of measurement.
    package let fastest: Double

    static let onFoot = BestDistances(
        lengths: [400, 1_000, 1_609.344, 5_000, 10_000, 21_097.5, 42_195], fastest: 12)
    static let cycling = BestDistances(lengths: [5_000, 20_000, 40_000, 100_000], fastest: 30)
    static let swimming = BestDistances(lengths: [100, 400, 1_500], fastest: 2.6)
}
