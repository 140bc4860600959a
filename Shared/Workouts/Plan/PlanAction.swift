/// A client's action on the plan of a session. `item` defaults to the current item.
package enum PlanAction: Equatable, Sendable {
    case completeSet(SetCompletion)
    /// Removes a completed set; the last one by default.
    case uncompleteSet(SetReference)
    case skipExercise(item: String?)
    /// Marks the exercise as painful.
    case flagPain(item: String?)
    /// Replaces an item's exercise by the named alternative, or by the next one.
    case swapExercise(item: String?, alternative: String?)
    /// Scales load and repetitions of open sets: of one item, or of all items by default.
    case adjustDifficulty(item: String?, Difficulty)
    case goTo(item: String)
    case setPresentationMode(PlanProgress.PresentationMode)

    package var kind: SessionAction.Kind {
        switch self {
        case .completeSet: .completeSet
        case .uncompleteSet: .uncompleteSet
        case .skipExercise: .skipExercise
        case .flagPain: .flagPain
        case .swapExercise: .swapExercise
        case .adjustDifficulty: .adjustDifficulty
        case .goTo: .goTo
        case .setPresentationMode: .setPresentationMode
        }
    }
}

package enum Difficulty: String, Codable, CaseIterable, Sendable {
    case easier, harder
}

/// Identifies a set. Absent parts default to the current ones.
package struct SetReference: Hashable, Sendable {
    package var item: String?
    /// The set, from 0 within the round.
    package var set: Int?
    /// The round, from 1.
    package var round: Int?

    package init(item: String? = nil, set: Int? = nil, round: Int? = nil) {
        self.item = item
        self.set = set
        self.round = round
    }
}

/// A completed set. Values are present where they differ from the plan.
package struct SetCompletion: Hashable, Sendable {
    package var reference: SetReference
    package var repetitions: Int?
    /// Kilograms.
    package var weight: Double?
    /// Duration in seconds.
    package var time: Double?

    package init(
        _ reference: SetReference = SetReference(), repetitions: Int? = nil, weight: Double? = nil, time: Double? = nil
    ) {
        self.reference = reference
        self.repetitions = repetitions
        self.weight = weight
        self.time = time
    }

    /// The first invalid field and what it allows; `nil` if all values are valid.
    package var validationError: String? {
        PlannedSet(repetitions: repetitions, weight: weight, time: time).validationError
    }
}

/// A coach's answer to a swap or a change of difficulty: exercises that replace those of their items.
package struct CoachAdvice: Hashable, Sendable {
    package var exercises: [String: PlannedExercise]

    package init(_ exercises: [String: PlannedExercise]) {
        self.exercises = exercises
    }
}
