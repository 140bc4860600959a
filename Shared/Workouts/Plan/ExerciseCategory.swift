/// What kind of movement an exercise is, as far as files of the field tell them apart.
package enum ExerciseCategory: String, Codable, CaseIterable, Sendable {
    case benchPress, core, curl, deadlift, lunge, plank, pullUp, pushUp, row, shoulderPress, sitUp, squat
}

/// An exercise that may be on, with its sets; without sets those of the exercise it stands in for.
package struct PlannedExercise: Codable, Hashable, Sendable {
    package var name: String
    /// Its kind; absent for one that files have no number for.
    package var exercise: ExerciseCategory?
    package var sets: [PlannedSet]?

    package init(name: String, exercise: ExerciseCategory? = nil, sets: [PlannedSet]? = nil) {
        self.name = name
        self.exercise = exercise
        self.sets = sets
    }
}

extension PlannedExercise {
    /// What of it cannot be done, naming the field; `nil` when all of it can.
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
    /// Why it cannot be shown as a name in one line; `nil` when it can.
    var nameError: String? {
        guard (1...PlanLimits.name).contains(utf8.count) else { return "1 to \(PlanLimits.name) bytes" }
        return unicodeScalars.contains { $0.value < 32 || $0.value == 127 } ? "control characters" : nil
    }
}
