/// What has been done of a plan, and where somebody is in it. All that follows from time is computed from it.
package struct PlanProgress: Codable, Hashable, Sendable {
    /// Somebody went to a block; from there blocks whose time is over lead to the next.
    package struct Visit: Codable, Hashable, Sendable {
        package var block: Int
        package var at: Timestamp
    }

    /// The exercise that is on in a block whose sets say how far it has come.
    package struct Focus: Codable, Hashable, Sendable {
        package var item: String
        package var at: Timestamp
    }

    /// Another exercise is in an item's place, or none, for it is skipped: kept of blocks whose clock makes the sets.
    package struct Change: Codable, Hashable, Sendable {
        package var item: String
        package var at: Timestamp
        /// Which of the item's exercises; absent of none.
        package var exercise: Int?
    }

    package enum PresentationMode: String, Codable, CaseIterable, Sendable {
        /// One exercise at a time.
        case workout
        /// All of them.
        case list
    }

    /// In the order of time; the first with the session's start.
    package internal(set) var visits: [Visit]
    package internal(set) var focus: Focus?
    /// In the order of time.
    package internal(set) var changes: [Change] = []
    /// By item, in the order of round and set.
    package internal(set) var completed: [String: [CompletedSet]] = [:]
    package internal(set) var skipped: Set<String> = []
    package internal(set) var painFlagged: Set<String> = []
    package internal(set) var presentationMode = PresentationMode.workout

    init(start: Timestamp) {
        visits = [Visit(block: 0, at: start)]
    }

    var completedCount: Int { completed.values.reduce(0) { $0 + $1.count } }

    /// The set of some items that was completed last.
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
        // Sorted, for the same progress is to give the same bytes.
        try container.encode(skipped.sorted(), forKey: .skipped)
        try container.encode(painFlagged.sorted(), forKey: .painFlagged)
        try container.encode(presentationMode, forKey: .presentationMode)
    }
}

/// A set that somebody has done.
package struct CompletedSet: Codable, Hashable, Sendable {
    /// From 1.
    package var round: Int
    /// From 0, within the round.
    package var set: Int
    package var at: Timestamp
    /// Which of the item's exercises it was; absent of the planned one.
    package var exercise: Int?
    package var repetitions: Int?
    /// Kilograms.
    package var weight: Double?
    /// Seconds that it took.
    package var time: Double?
    /// Seconds of rest planned after it.
    package var rest: Double?

    /// The order of time; of the same moment that of the plan.
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
    /// Why it cannot be the progress of a plan; `nil` when it can. What no rule looks at is not judged.
    func validationError(of plan: SessionPlan) -> String? {
        guard (1...PlanLimits.visits).contains(visits.count) else { return "visits: 1 to \(PlanLimits.visits)" }
        if !visits.allSatisfy({ plan.blocks.indices.contains($0.block) }) { return "visits: of no block of the plan" }
        guard changes.count <= PlanLimits.changes else { return "changes: more than \(PlanLimits.changes)" }
        let isOfPlan = changes.allSatisfy { change in
            plan.item(change.item).map { $0.exercises.indices.contains(change.exercise ?? 0) } ?? false
        }
        if !isOfPlan { return "changes: of no exercise of the plan" }
        guard completedCount <= PlanLimits.sets else { return "completed: more than \(PlanLimits.sets) sets" }
        for (id, sets) in completed {
            guard let item = plan.item(id) else { return "completed: of no item of the plan" }
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
        guard item.exercises.indices.contains(exercise ?? 0) else { return "exercise: none of the item" }
        return PlannedSet(repetitions: repetitions, weight: weight, time: time, rest: rest).validationError
    }
}
