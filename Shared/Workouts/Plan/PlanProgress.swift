/// The completed part of a plan and the current position. The clock's part is computed and not stored.
package struct PlanProgress: Codable, Hashable, Sendable {
    /// A change to a block. From there, each block whose time is over leads to the next.
    package struct Visit: Codable, Hashable, Sendable {
        package var block: Int
        package var at: Timestamp
    }

    /// The current exercise of a block that advances by completed sets.
    package struct Focus: Codable, Hashable, Sendable {
        package var item: String
        package var at: Timestamp
    }

    /// An exercise was swapped or skipped. Recorded only in blocks whose clock defines the sets.
    package struct Change: Codable, Hashable, Sendable {
        package var item: String
        package var at: Timestamp
        /// The index of the exercise that is now in place; `nil` if the item is skipped.
        package var exercise: Int?
    }

    package enum PresentationMode: String, Codable, CaseIterable, Sendable {
        /// Shows one exercise at a time.
        case workout
        /// Shows all exercises.
        case list
    }

    /// Sorted by time. The first begins with the session.
    package internal(set) var visits: [Visit]
    package internal(set) var focus: Focus?
    /// Sorted by time.
    package internal(set) var changes: [Change] = []
    /// By item, sorted by round and set.
    package internal(set) var completed: [String: [CompletedSet]] = [:]
    package internal(set) var skipped: Set<String> = []
    package internal(set) var painFlagged: Set<String> = []
    package internal(set) var presentationMode = PresentationMode.workout

    init(start: Timestamp) {
        visits = [Visit(block: 0, at: start)]
    }

    var completedCount: Int { completed.values.reduce(0) { $0 + $1.count } }

    /// The latest completed set among the matching items.
    func lastCompleted(of isMeant: (String) -> Bool = { _ in true }) -> (item: String, set: CompletedSet)? {
        var last: (item: String, set: CompletedSet)?
        for (item, sets) in completed where isMeant(item) {
            for set in sets where last.map({ ($0.set.order, $0.item) < (set.order, item) }) ?? true {
                last = (item, set)
            }
        }
        return last
    }
}

extension PlanProgress {
    private enum Key: String, CodingKey {
        case visits, focus, changes, completed, skipped, painFlagged, presentationMode
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(visits, forKey: .visits)
        try container.encodeIfPresent(focus, forKey: .focus)
        try container.encode(changes, forKey: .changes)
        try container.encode(completed, forKey: .completed)
        // Sorted, so that equal progress encodes to equal bytes.
        try container.encode(skipped.sorted(), forKey: .skipped)
        try container.encode(painFlagged.sorted(), forKey: .painFlagged)
        try container.encode(presentationMode, forKey: .presentationMode)
    }
}

/// A set that the user completed.
package struct CompletedSet: Codable, Hashable, Sendable {
    /// The round, from 1.
    package var round: Int
    /// The set, from 0 within the round.
    package var set: Int
    package var at: Timestamp
    /// The index of the exercise; `nil` for the planned one.
    package var exercise: Int?
    package var repetitions: Int?
    /// Kilograms.
    package var weight: Double?
    /// Duration in seconds.
    package var time: Double?
    /// Seconds of planned rest after the set.
    package var rest: Double?

    /// Sorts by time, then by position in the plan.
    var order: Order { Order(at: at, round: round, set: set) }

    struct Order: Comparable {
        let at: Timestamp
        let round: Int
        let set: Int

        static func < (left: Order, right: Order) -> Bool {
            (left.at, left.round, left.set) < (right.at, right.round, right.set)
        }
    }
}

extension PlanProgress {
    /// What makes it impossible as the progress of a plan; `nil` if it is possible. Fields that no rule reads are not
    /// checked.
    func validationError(of plan: SessionPlan) -> String? {
        guard (1...PlanLimits.visits).contains(visits.count) else { return "visits: 1 to \(PlanLimits.visits)" }
        if !visits.allSatisfy({ plan.blocks.indices.contains($0.block) }) { return "visits: block not in the plan" }
        guard changes.count <= PlanLimits.changes else { return "changes: more than \(PlanLimits.changes)" }
        let isOfPlan = changes.allSatisfy { change in
            plan.item(change.item).map { $0.exercises.indices.contains(change.exercise ?? 0) } ?? false
        }
        if !isOfPlan { return "changes: exercise not in the plan" }
        guard completedCount <= PlanLimits.sets else { return "completed: more than \(PlanLimits.sets) sets" }
        for (id, sets) in completed {
            guard let item = plan.item(id) else { return "completed: item not in the plan" }
            if let error = sets.lazy.compactMap({ $0.validationError(of: item) }).first { return "completed: \(error)" }
            let isSorted = zip(sets, sets.dropFirst()).allSatisfy { ($0.round, $0.set) < ($1.round, $1.set) }
            if !isSorted { return "completed: out of order" }
        }
        return nil
    }
}

extension CompletedSet {
    fileprivate func validationError(of item: SessionPlan.Item) -> String? {
        guard (1...PlanLimits.rounds).contains(round) else { return "round: 1 to \(PlanLimits.rounds)" }
        guard (0..<PlanLimits.setsOfExercise).contains(set) else { return "set: 0 to \(PlanLimits.setsOfExercise - 1)" }
        guard item.exercises.indices.contains(exercise ?? 0) else { return "exercise: not in the item" }
        return PlannedSet(repetitions: repetitions, weight: weight, time: time, rest: rest).validationError
    }
}
