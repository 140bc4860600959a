/// Swapped, skipped and scaled exercises.
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
                throw .invalidCommand(
                    "alternative: unknown alternative '\(alternative.prefix(PlanLimits.name))'; "
                        + "available: \(others.joined(separator: ", "))")
            }
            index = named
        }
        guard index != item.chosen else { return }
        plan[place].chosen = index
        replaced(item, place, now, at)
    }

    /// Updates the position after another exercise took an item's place: the block continues with it or is completed.
    private mutating func replaced(
        _ item: SessionPlan.Item, _ place: SessionPlan.Place, _ now: PlanTimer, _ at: Timestamp
    ) {
        guard item.id == now.item, !plan.blocks[place.block].timer.isPaced, !hasMoved(from: place, since: at) else {
            return
        }
        // The time of its first set begins.
        progress.focus = .init(item: item.id, at: at)
        let isDone = openSet(item, round: now.round) != nil && openSet(plan[place], round: now.round) == nil
        if isDone { advance(from: place, now, at) }
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
            throw .invalidState("no open set has a load or repetitions to scale")
        }
        if let error = next.sizeError { throw .invalidState("the plan would be too large: \(error)") }
        plan = next
    }

    /// Scales the sets of an item. In a block with one round, completed sets keep their values.
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

    /// Replaces the current exercises by a coach's. Completed sets keep their exercise.
    mutating func take(_ advice: CoachAdvice, _ at: Timestamp, _ clock: ActiveClock) throws(Refusal) {
        let now = timer(at: at, clock)
        let known = self
        let before = plan.place(of: now.item).map { plan[$0] }
        var next = plan
        for (id, exercise) in advice.exercises.sorted(by: { $0.key < $1.key }) {
            guard let place = next.place(of: id) else { throw .noSuchItem(id, in: plan) }
            let isPaced = next.blocks[place.block].timer.isPaced
            if let error = exercise.validationError ?? exercise.validationError(isPaced: isPaced) {
                throw .coachFailed("\(id): \(error)")
            }
            if let index = next[place].exercises.firstIndex(where: { $0.name == exercise.name }) {
                next[place].exercises[index].sets = exercise.sets ?? next[place].exercises[index].sets
                next[place].chosen = index
            } else {
                guard next[place].exercises.count < SessionPlan.Item.exerciseLimit else {
                    throw .invalidState(
                        "\(id) has \(SessionPlan.Item.exerciseLimit) exercises, the maximum; swap to one of them")
                }
                next[place].exercises.append(exercise)
                next[place].chosen = next[place].exercises.count - 1
            }
        }
        if let error = next.sizeError { throw .coachFailed(error) }
        plan = next
        try note(changesSince: known, at)
        if let before, let place = plan.place(of: before.id), plan[place] != before { replaced(before, place, now, at) }
    }
}

extension PlannedSet {
    /// Scales by 10 %, at least by one repetition and half a kilogram.
    fileprivate func scaled(_ difficulty: Difficulty) -> PlannedSet {
        let sign = difficulty == .harder ? 1.0 : -1.0
        var set = self
        if let repetitions {
            let step = max(1, (Double(repetitions) / 10).rounded())
            set.repetitions = min(max(repetitions + Int(sign * step), 1), PlanLimits.repetitions.upperBound)
        }
        if let weight, weight > 0 {
            let step = max(0.5, (weight / 10 * 2).rounded() / 2)
            // Keeps some load, so that a later change can raise it again.
            set.weight = min(max(weight + sign * step, min(weight, 0.5)), PlanLimits.weight.upperBound)
        }
        return set
    }
}

extension PlannedWorkout {
    /// Applies an action that happened at `at`. A refused action changes nothing.
    mutating func apply(_ action: PlanAction, at: Timestamp, _ segments: [Segment]) throws(Refusal) {
        var next = self
        try next.perform(action, at, ActiveClock(segments))
        try next.note(changesSince: self, at)
        self = next
    }

    private mutating func perform(_ action: PlanAction, _ at: Timestamp, _ clock: ActiveClock) throws(Refusal) {
        let now = timer(at: at, clock)
        switch action {
        case .completeSet(let completion): try complete(completion, try place(completion.reference.item, now), now, at)
        case .uncompleteSet(let reference): try uncomplete(reference, at, clock)
        case .skipExercise(let item): try skip(try place(item, now), now, at)
        case .flagPain(let item): progress.painFlagged.insert(plan[try place(item, now)].id)
        case .swapExercise(let item, let alternative): try swap(try place(item, now), alternative, now, at)
        case .adjustDifficulty(let item, let difficulty):
            try adjust(try item.map { (id) throws(Refusal) in try place(id, now) }, difficulty)
        case .goTo(let item): try go(to: try place(item, now), now, at, clock)
        case .setPresentationMode(let mode): progress.presentationMode = mode
        }
    }

    /// The place of an item; of the current one by default.
    private func place(_ id: String?, _ timer: PlanTimer) throws(Refusal) -> SessionPlan.Place {
        let id = id ?? timer.item
        guard let place = plan.place(of: id) else { throw .noSuchItem(id, in: plan) }
        return place
    }
}

extension Refusal {
    static func noSuchItem(_ id: String, in plan: SessionPlan) -> Refusal {
        let ids = plan.blocks.flatMap { $0.items.map(\.id) }.joined(separator: ", ")
        return .invalidCommand("item: unknown item '\(id.prefix(PlanLimits.id))'; available: \(ids)")
    }

    /// The coach's answer is invalid.
    package static func coachFailed(_ message: String) -> Refusal { Refusal(code: "coach_failed", message: message) }
}

/// The history of exercises in blocks whose clock defines the sets.
extension PlannedWorkout {
    /// Records the exercises that a change at `at` swapped, skipped or took up again, in paced blocks only.
    mutating func note(changesSince before: PlannedWorkout, _ at: Timestamp) throws(Refusal) {
        for block in plan.blocks where block.timer.isPaced {
            for item in block.items {
                guard let known = before.plan.item(item.id), choice(of: item) != before.choice(of: known) else {
                    continue
                }
                guard progress.changes.count < PlanLimits.changes else {
                    throw .invalidState("a workout has at most \(PlanLimits.changes) swaps and skips")
                }
                // A change that arrives after a later one of the same item takes effect after that.
                let last = progress.changes.last { $0.item == item.id }
                let change = PlanProgress.Change(
                    item: item.id, at: max(at, last?.at ?? at), exercise: choice(of: item))
                let place = progress.changes.lastIndex { $0.at <= change.at }.map { $0 + 1 } ?? 0
                progress.changes.insert(change, at: place)
            }
        }
    }

    /// `nil` while the item is skipped.
    private func choice(of item: SessionPlan.Item) -> Int? {
        progress.skipped.contains(item.id) ? nil : item.chosen
    }

    /// The index of the exercise that fills a piece: the one of its completed round, else the one that was current at
    /// half of the piece's time. `nil` if it was skipped then.
    func exercise(of piece: ClockedPiece, _ clock: ActiveClock) -> Int? {
        let item = item(of: piece)
        if let done = completed(item.id, round: piece.round) { return done.exercise ?? 0 }
        guard plan.blocks[piece.block].timer.isPaced else { return item.chosen }
        let middle = clock.start(of: piece.from + (piece.to - piece.from) / 2)
        let last = middle.flatMap { middle in progress.changes.last { $0.item == item.id && $0.at <= middle } }
        return last.map(\.exercise) ?? 0
    }
}

/// The open part of a plan.
extension PlannedWorkout {
    /// The first open set of an item in a round.
    func openSet(_ item: SessionPlan.Item, round: Int) -> Int? {
        var open = 0
        for set in progress.completed[item.id] ?? [] where set.round == round && set.set == open { open += 1 }
        return open < item.sets.count ? open : nil
    }

    /// The completed set of an item in a round. A paced block has one set a round.
    func completed(_ item: String, round: Int) -> CompletedSet? {
        progress.completed[item]?.first { $0.round == round }
    }

    func isOpen(_ item: SessionPlan.Item, round: Int) -> Bool {
        !progress.skipped.contains(item.id) && openSet(item, round: round) != nil
    }

    /// The first round up to `last` in which an item has an open set.
    func openRound(_ item: SessionPlan.Item, last: Int) -> Int? {
        let count = item.sets.count
        var (round, open) = (1, 0)
        for set in progress.completed[item.id] ?? [] {
            if set.round > round { break }
            // Other sets belong to a swapped exercise with more sets.
            if set.round == round, set.set == open { open += 1 }
            if open == count { (round, open) = (round + 1, 0) }
        }
        return round <= last ? round : nil
    }

    /// The first round of a block with an open set; `nil` if everything is completed.
    func openRound(_ number: Int) -> Int? {
        let block = plan.blocks[number]
        let last = block.timer.plannedRounds ?? PlanLimits.rounds
        return block.items.lazy.filter { !progress.skipped.contains($0.id) }
            .compactMap { openRound($0, last: last) }.min()
    }

    /// The last round of a block; for as many rounds as possible, the last one reached.
    func lastRound(_ number: Int) -> Int {
        let block = plan.blocks[number]
        return block.timer.plannedRounds
            ?? block.items.compactMap { progress.completed[$0.id]?.last?.round }.max() ?? 1
    }

    func firstOpen(_ block: Int, round: Int) -> SessionPlan.Item? {
        plan.blocks[block].items.first { isOpen($0, round: round) }
    }

    func isSkipped(_ block: SessionPlan.Block) -> Bool {
        block.items.allSatisfy { progress.skipped.contains($0.id) }
    }

    /// Whether an item is done: all its sets are completed, or the time of its block is over.
    func isDone(_ place: SessionPlan.Place, _ active: Int64, _ spans: [BlockSpan]) -> Bool {
        isTimeOver(place.block, active, spans) || areSetsDone(place)
    }

    /// Whether all sets of an item are completed in every round. Always `false` for as many rounds as possible.
    func areSetsDone(_ place: SessionPlan.Place) -> Bool {
        let block = plan.blocks[place.block]
        guard let rounds = block.timer.plannedRounds else { return false }
        guard block.timer.isPaced else { return openRound(plan[place], last: rounds) == nil }
        return progress.completed[plan[place].id]?.count ?? 0 >= block.rounds(of: place.item).count
    }

    /// The number of completed exercises and of all exercises; skipped ones do not count.
    package func exercises(at time: Timestamp, _ segments: [Segment]) -> (done: Int, total: Int) {
        let clock = ActiveClock(segments)
        let (active, spans) = (clock.active(at: time), spans(clock))
        var (done, total) = (0, 0)
        for (number, block) in plan.blocks.enumerated() {
            for (index, item) in block.items.enumerated() where !progress.skipped.contains(item.id) {
                total += 1
                if isDone(.init(block: number, item: index), active, spans) { done += 1 }
            }
        }
        return (done, total)
    }
}

extension SessionPlan.Block {
    /// The index of the exercise in a round of a paced block: exercises take turns.
    func turn(of round: Int) -> Int { (round - 1) % items.count }

    /// The item after the rest of a round, if exercises take turns and the item is not skipped; else `nil`.
    func next(after round: Int, _ phase: PlanTimer.Phase, skipped: Set<String>) -> SessionPlan.Item? {
        guard timer.isPaced, phase == .rest, items.count > 1, round < timer.plannedRounds ?? 0 else { return nil }
        let item = items[turn(of: round + 1)]
        return skipped.contains(item.id) ? nil : item
    }

    /// The rounds that contain an exercise. For as many rounds as possible, all rounds up to the limit.
    func rounds(of index: Int) -> [Int] {
        let all = timer.plannedRounds ?? PlanLimits.rounds
        return timer.isPaced ? Array(stride(from: index + 1, through: all, by: items.count)) : Array(1...all)
    }
}
