/// What a client asks of a session with a plan. An item that is not named is the one that is on.
package enum PlanAction: Equatable, Sendable {
    case completeSet(SetCompletion)
    /// Takes a completed set back; the last one when none is named.
    case uncompleteSet(SetReference)
    case skipExercise(item: String?)
    /// Notes that the exercise hurts.
    case flagPain(item: String?)
    /// Puts another exercise in an item's place: the alternative of that name, else the next.
    case swapExercise(item: String?, alternative: String?)
    /// Scales load and repetitions of sets that are not done; of all items when none is named.
    case adjustDifficulty(item: String?, Difficulty)
    case goTo(item: String)
    case setPresentationMode(PlanProgress.PresentationMode)

    package var name: String {
        switch self {
        case .completeSet: "completeSet"
        case .uncompleteSet: "uncompleteSet"
        case .skipExercise: "skipExercise"
        case .flagPain: "flagPain"
        case .swapExercise: "swapExercise"
        case .adjustDifficulty: "adjustDifficulty"
        case .goTo: "goTo"
        case .setPresentationMode: "setPresentationMode"
        }
    }
}

package enum Difficulty: String, Codable, CaseIterable, Sendable {
    case easier, harder
}

/// Which set is meant; what is absent is found by what is on.
package struct SetReference: Hashable, Sendable {
    package var item: String?
    /// From 0, within the round.
    package var set: Int?
    /// From 1.
    package var round: Int?

    package init(item: String? = nil, set: Int? = nil, round: Int? = nil) {
        self.item = item
        self.set = set
        self.round = round
    }
}

/// A set that is done, and what was done of it where that is not what was planned.
package struct SetCompletion: Hashable, Sendable {
    package var reference: SetReference
    package var repetitions: Int?
    /// Kilograms.
    package var weight: Double?
    /// Seconds that it took.
    package var time: Double?

    package init(
        _ reference: SetReference = SetReference(), repetitions: Int? = nil, weight: Double? = nil, time: Double? = nil
    ) {
        self.reference = reference
        self.repetitions = repetitions
        self.weight = weight
        self.time = time
    }

    /// What of it nobody can have done, naming the field; `nil` when all of it can be.
    package var validationError: String? {
        PlannedSet(repetitions: repetitions, weight: weight, time: time).validationError
    }
}

/// What a coach answers to a swap or a change of difficulty: exercises that take their items' places.
package struct CoachAdvice: Hashable, Sendable {
    package var exercises: [String: PlannedExercise]

    package init(_ exercises: [String: PlannedExercise]) {
        self.exercises = exercises
    }
}
