/// What is left to do.
extension PlannedWorkout {
    /// The first set of an item that is not done in a round.
    func openSet(_ item: SessionPlan.Item, round: Int) -> Int? {
        var open = 0
        for set in progress.completed[item.id] ?? [] where set.round == round && set.set == open { open += 1 }
        return open < item.sets.count ? open : nil
    }

    /// The set of an item that was done in a round, of which there is one where a clock paces the block.
    func completed(_ item: String, round: Int) -> CompletedSet? {
        progress.completed[item]?.first { $0.round == round }
    }

    func isOpen(_ item: SessionPlan.Item, round: Int) -> Bool {
        !progress.skipped.contains(item.id) && openSet(item, round: round) != nil
    }

    /// The first round up to `last` in which not all sets of an item are done.
    func openRound(_ item: SessionPlan.Item, last: Int) -> Int? {
        let count = item.sets.count
        var (round, open) = (1, 0)
        for set in progress.completed[item.id] ?? [] {
            if set.round > round { break }
            // Others are of exercises with more sets that were swapped.
            if set.round == round, set.set == open { open += 1 }
            if open == count { (round, open) = (round + 1, 0) }
        }
        return round <= last ? round : nil
    }

    /// The first round of a block in which something is left to do; `nil` when nothing is.
    func openRound(_ number: Int) -> Int? {
        let block = plan.blocks[number]
        let last = block.timer.plannedRounds ?? PlanLimits.rounds
        return block.items.lazy.filter { !progress.skipped.contains($0.id) }
            .compactMap { openRound($0, last: last) }.min()
    }

    /// The last round of a block, or as far as it has come of as many as possible.
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

    /// Whether nothing is left to do of an item: its sets are done, or the time of its block is over.
    func isDone(_ place: SessionPlan.Place, _ active: Int64, _ spans: [BlockSpan]) -> Bool {
        isTimeOver(place.block, active, spans) || areSetsDone(place)
    }

    /// Whether the sets of an item are done in every round; never when there are as many rounds as possible.
    func areSetsDone(_ place: SessionPlan.Place) -> Bool {
        let block = plan.blocks[place.block]
        guard let rounds = block.timer.plannedRounds else { return false }
        guard block.timer.isPaced else { return openRound(plan[place], last: rounds) == nil }
        return progress.completed[plan[place].id]?.count ?? 0 >= block.rounds(of: place.item).count
    }

    /// How many exercises are done, of those that are not skipped.
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
    /// Which exercise is on in a round of a block that its clock paces: they take turns.
    func turn(of round: Int) -> Int { (round - 1) % items.count }

    /// Whose turn comes after the rest of a round, where exercises take turns; `nil` elsewhere, and of one that is skipped.
    func next(after round: Int, _ phase: PlanTimer.Phase, skipped: Set<String>) -> SessionPlan.Item? {
        guard timer.isPaced, phase == .rest, items.count > 1, round < timer.plannedRounds ?? 0 else { return nil }
        let item = items[turn(of: round + 1)]
        return skipped.contains(item.id) ? nil : item
    }

    /// The rounds in which an exercise is on; without an end of as many as possible.
    func rounds(of index: Int) -> [Int] {
        let all = timer.plannedRounds ?? PlanLimits.rounds
        return timer.isPaced ? Array(stride(from: index + 1, through: all, by: items.count)) : Array(1...all)
    }
}
