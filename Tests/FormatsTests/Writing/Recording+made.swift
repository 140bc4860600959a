import Workouts

@testable import Formats

extension Recording {
    /// The start of recordings.
    static let begin = Timestamp(seconds: 1_700_000_000)

    /// A recording made for a test, its times in seconds since ``begin``.
    init(
        _ activity: Activity = .running, environment: Environment? = nil,
        segments: [ClosedRange<Double>] = [0...60],
        samples: [(Double, [Quantity: Double])] = [], places: [(Double, Double, Double)] = []
    ) {
        let ranges = segments.map { Self.begin + $0.lowerBound...Self.begin + $0.upperBound }
        self.init(
            start: ranges[0].lowerBound, end: ranges[ranges.count - 1].upperBound, segments: ranges,
            activity: activity, environment: environment,
            samples: samples.map { time, values in
                var sample = Sample(time: Self.begin + time)
                for (quantity, value) in values { sample[quantity] = value }
                return sample
            },
            locations: places.map { Location(time: Self.begin + $0, latitude: $1, longitude: $2) })
    }
}
