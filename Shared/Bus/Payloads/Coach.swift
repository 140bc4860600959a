package import Workouts

/// The engine's question to an external coach, on `coach-request`.
package struct CoachRequest: Codable, Equatable, Sendable {
    package enum Kind: String, Codable, CaseIterable, Sendable {
        case swapExercise, adjustDifficulty
    }

    /// The id of the command behind the question; the answer repeats it.
    package var id: CommandID
    package var session: SessionID
    package var type: Kind
    package var activity: Activity
    /// The item in question; absent for all items.
    package var item: String?
    package var difficulty: Difficulty?
    package var plan: SessionPlan
    package var progress: ProgressReport
    /// The deadline of the answer.
    package var answerBy: Timestamp

    package init(
        id: CommandID, session: SessionID, type: Kind, activity: Activity, item: String?, difficulty: Difficulty?,
        plan: SessionPlan, progress: ProgressReport, answerBy: Timestamp
    ) {
        self.id = id
        self.session = session
        self.type = type
        self.activity = activity
        self.item = item
        self.difficulty = difficulty
        self.plan = plan
        self.progress = progress
        self.answerBy = answerBy
    }
}

/// A coach's answer, on `coach-reply`: exercises that replace those of their items, or an error.
package struct CoachReply: Codable, Equatable, Sendable {
    package var id: CommandID
    /// By item. An exercise without sets keeps the sets of the item.
    package var exercises: [String: PlannedExercise]?
    /// The reason for giving no exercises, to show to the user.
    package var error: String?

    package init(id: CommandID, exercises: [String: PlannedExercise]? = nil, error: String? = nil) {
        self.id = id
        self.exercises = exercises
        self.error = error
    }

    /// The first invalid field and what it allows; `nil` if the answer is valid.
    package var validationError: String? {
        if let exercises {
            guard (1...PlanLimits.items).contains(exercises.count) else { return "exercises: 1 to \(PlanLimits.items)" }
            for (id, exercise) in exercises.sorted(by: { $0.key < $1.key }) {
                if let error = exercise.validationError { return "exercises.\(id.prefix(PlanLimits.id)).\(error)" }
            }
            return nil
        }
        guard let error else { return "exercises: missing" }
        guard (1...200).contains(error.utf8.count) else { return "error: 1 to 200 bytes" }
        return error.hasControlCharacters ? "error: control characters" : nil
    }
}
