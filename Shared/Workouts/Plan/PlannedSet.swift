/// A set of the plan. Absent values are not prescribed.
package struct PlannedSet: Codable, Hashable, Sendable {
    package var repetitions: Int?
    /// Kilograms.
    package var weight: Double?
    /// Duration in seconds.
    package var time: Double?
    /// Seconds of rest after it.
    package var rest: Double?

    package init(repetitions: Int? = nil, weight: Double? = nil, time: Double? = nil, rest: Double? = nil) {
        self.repetitions = repetitions
        self.weight = weight
        self.time = time
        self.rest = rest
    }
}

extension PlannedSet {
    private enum Key: String, CodingKey {
        case repetitions, weight, time, rest
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        repetitions = try container.wholeNumber(forKey: .repetitions)
        weight = try container.number(Double.self, forKey: .weight)
        time = try container.number(Double.self, forKey: .time)
        rest = try container.number(Double.self, forKey: .rest)
    }

    /// The first invalid field and what it allows; `nil` if the set is valid.
    package var validationError: String? {
        if let repetitions, !PlanLimits.repetitions.contains(repetitions) { return "repetitions: 1 to 1000" }
        if let weight, !PlanLimits.weight.contains(weight) { return "weight: 0 to 1000 kg" }
        if let time, !PlanLimits.seconds.contains(time) { return "time: 1 to 36000 s" }
        if let rest, !PlanLimits.rest.contains(rest) { return "rest: 0 to 3600 s" }
        return nil
    }
}

/// Limits that keep `state` and `workout` within the size of a payload.
package enum PlanLimits {
    package static let sections = 20
    /// Exercises of a workout.
    package static let items = 60
    /// Sets of one exercise.
    package static let setsOfExercise = 30
    /// Sets of a workout over all rounds; also the limit of completed sets.
    package static let sets = 200
    package static let rounds = 200
    /// Alternatives of one exercise, including a coach's.
    package static let alternatives = 8
    /// Words of focus or equipment.
    package static let words = 20
    /// Bytes of a name.
    package static let name = 100
    /// Bytes of an item's id.
    package static let id = 64
    /// Bytes of a published plan.
    package static let bytes = 32 * 1_024
    /// Changes from block to block.
    package static let visits = 100
    /// Swaps and skips of exercises in interval and emom blocks.
    package static let changes = 100

    static let repetitions = 1...1_000
    static let weight = 0.0...1_000
    static let seconds = 1.0...36_000
    static let rest = 0.0...3_600
}
