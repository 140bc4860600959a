/// The kind of movement, at the resolution of the FIT profile.
package enum ExerciseCategory: String, Codable, CaseIterable, Sendable {
    case benchPress, core, curl, deadlift, lunge, plank, pullUp, pushUp, row, shoulderPress, sitUp, squat
}

/// An exercise with its sets. An alternative without sets uses those of the planned exercise.
package struct PlannedExercise: Codable, Hashable, Sendable {
    package var name: String
    /// `nil` if the FIT profile has no number for the exercise.
    package var exercise: ExerciseCategory?
    package var sets: [PlannedSet]?

    package init(name: String, exercise: ExerciseCategory? = nil, sets: [PlannedSet]? = nil) {
        self.name = name
        self.exercise = exercise
        self.sets = sets
    }
}

extension PlannedExercise {
    /// The first invalid field and what it allows; `nil` if the exercise is valid.
    package var validationError: String? {
        if let error = name.nameError { return "name: \(error)" }
        guard let sets else { return nil }
        guard (1...PlanLimits.setsOfExercise).contains(sets.count) else {
            return "sets: 1 to \(PlanLimits.setsOfExercise)"
        }
        for (index, set) in sets.enumerated() {
            if let error = set.validationError { return "sets[\(index)].\(error)" }
        }
        return nil
    }
}

extension String {
    /// What makes the text invalid as a one-line name; `nil` if it is valid.
    var nameError: String? {
        guard (1...PlanLimits.name).contains(utf8.count) else { return "1 to \(PlanLimits.name) bytes" }
        return hasControlCharacters ? "control characters" : nil
    }
}
