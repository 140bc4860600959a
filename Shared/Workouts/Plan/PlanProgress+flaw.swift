extension PlanProgress {
    /// Why it cannot be the progress of a plan; `nil` when it can. What no rule looks at is not judged.
    func flaw(of plan: SessionPlan) -> String? {
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
            if let flaw = sets.lazy.compactMap({ $0.flaw(of: item) }).first { return "completed: \(flaw)" }
            let isSorted = zip(sets, sets.dropFirst()).allSatisfy { ($0.round, $0.set) < ($1.round, $1.set) }
            if !isSorted { return "completed: out of order" }
        }
        return nil
    }
}

extension CompletedSet {
    fileprivate func flaw(of item: SessionPlan.Item) -> String? {
        guard (1...PlanLimits.rounds).contains(round) else { return "round: 1 to \(PlanLimits.rounds)" }
        guard (0..<PlanLimits.setsOfExercise).contains(set) else { return "set: 0 to \(PlanLimits.setsOfExercise - 1)" }
        guard item.exercises.indices.contains(exercise ?? 0) else { return "exercise: none of the item" }
        return PlannedSet(repetitions: repetitions, weight: weight, time: time, rest: rest).flaw
    }
}
