/// Exercises that are done otherwise than planned.
extension PlannedWorkout {
    mutating func swap(
        _ place: SessionPlan.Place, _ alternative: String?, _ now: PlanTimer, _ at: Timestamp
    ) throws(Refusal) {
        let item = plan[place]
        guard item.exercises.count > 1 else { throw .invalidState("\(item.exercise.name) has no alternatives") }
        var index = (item.chosen + 1) % item.exercises.count
        if let alternative {
            guard let named = item.exercises.firstIndex(where: { $0.name == alternative }) else {
                let others = item.exercises.indices.filter { $0 != item.chosen }.map { item.exercises[$0].name }
                throw .invalidCommand("alternative: not one of \(others.joined(separator: ", "))")
            }
            index = named
        }
        guard index != item.chosen else { return }
        plan[place].chosen = index
        replaced(item, place, now, at)
    }

    /// Another exercise is in an item's place: what was on goes on with it, or is done.
    private mutating func replaced(
        _ item: SessionPlan.Item, _ place: SessionPlan.Place, _ now: PlanTimer, _ at: Timestamp
    ) {
        guard item.id == now.item, !plan.blocks[place.block].timer.isPaced, !hasGoneOn(from: place, since: at) else {
            return
        }
        // The time of its set begins.
        progress.focus = .init(item: item.id, at: at)
        let isDone = openSet(item, round: now.round) != nil && openSet(plan[place], round: now.round) == nil
        if isDone { goOn(from: place, now, at) }
    }

    mutating func adjust(_ place: SessionPlan.Place?, _ difficulty: Difficulty) throws(Refusal) {
        var next = plan
        for (number, block) in plan.blocks.enumerated() {
            for (index, item) in block.items.enumerated() {
                let here = SessionPlan.Place(block: number, item: index)
                guard place == nil || place == here else { continue }
                next[here].exercises[item.chosen].sets = scaled(item, block, difficulty)
            }
        }
        guard next != plan else {
            throw .invalidState("nothing that is left to do has a load or repetitions to scale")
        }
        if let flaw = next.sizeFlaw { throw .invalidState("the plan would be too large: \(flaw)") }
        plan = next
    }

    /// Sets that are done stay as they were planned; those of every round are one.
    private func scaled(_ item: SessionPlan.Item, _ block: SessionPlan.Block, _ difficulty: Difficulty) -> [PlannedSet]?
    {
        let rounds = block.timer.plannedRounds
        let done = progress.completed[item.id] ?? []
        let sets = item.sets.enumerated().map { number, set in
            let isDone = rounds == 1 && done.contains { $0.set == number }
            return isDone ? set : set.scaled(difficulty)
        }
        return sets == item.sets ? item.exercise.sets : sets
    }

    /// Takes a coach's exercises in place of those that are on. What is done stays as it was done.
    mutating func take(_ advice: CoachAdvice, _ at: Timestamp, _ clock: ActiveClock) throws(Refusal) {
        let now = timer(at: at, clock)
        let known = self
        let before = plan.place(of: now.item).map { plan[$0] }
        var next = plan
        for (id, exercise) in advice.exercises.sorted(by: { $0.key < $1.key }) {
            guard let place = next.place(of: id) else { throw .noSuchItem(id) }
            let isPaced = next.blocks[place.block].timer.isPaced
            if let flaw = exercise.flaw ?? exercise.flaw(isPaced: isPaced) { throw .coachFailed("\(id): \(flaw)") }
            if let index = next[place].exercises.firstIndex(where: { $0.name == exercise.name }) {
                next[place].exercises[index].sets = exercise.sets ?? next[place].exercises[index].sets
                next[place].chosen = index
            } else {
                guard next[place].exercises.count < SessionPlan.Item.exerciseLimit else {
                    throw .invalidState("\(id) was replaced too often")
                }
                next[place].exercises.append(exercise)
                next[place].chosen = next[place].exercises.count - 1
            }
        }
        if let flaw = next.sizeFlaw { throw .coachFailed(flaw) }
        plan = next
        try note(changesSince: known, at)
        if let before, let place = plan.place(of: before.id), plan[place] != before { replaced(before, place, now, at) }
    }
}

extension PlannedSet {
    /// A tenth less or more, at least a repetition and half a kilogram.
    fileprivate func scaled(_ difficulty: Difficulty) -> PlannedSet {
        let sign = difficulty == .harder ? 1.0 : -1.0
        var set = self
        if let repetitions {
            let step = max(1, (Double(repetitions) / 10).rounded())
            set.repetitions = min(max(repetitions + Int(sign * step), 1), PlanLimits.repetitions.upperBound)
        }
        if let weight, weight > 0 {
            let step = max(0.5, (weight / 10 * 2).rounded() / 2)
            // Some load stays, so that it can become more again.
            set.weight = min(max(weight + sign * step, min(weight, 0.5)), PlanLimits.weight.upperBound)
        }
        return set
    }
}
