/// Which exercise was on when, where a clock makes the sets.
extension PlannedWorkout {
    /// Takes note of exercises that were swapped, skipped or taken up again at a moment in blocks that their clocks pace.
    mutating func note(changesSince before: PlannedWorkout, _ at: Timestamp) throws(Refusal) {
        for block in plan.blocks where block.timer.isPaced {
            for item in block.items {
                guard let known = before.plan.item(item.id), choice(of: item) != before.choice(of: known) else {
                    continue
                }
                guard progress.changes.count < PlanLimits.changes else {
                    throw .invalidState("exercises were swapped and skipped \(PlanLimits.changes) times")
                }
                // Told after a later one of the same item, it counts from that.
                let last = progress.changes.last { $0.item == item.id }
                let change = PlanProgress.Change(
                    item: item.id, at: max(at, last?.at ?? at), exercise: choice(of: item))
                let place = progress.changes.lastIndex { $0.at <= change.at }.map { $0 + 1 } ?? 0
                progress.changes.insert(change, at: place)
            }
        }
    }

    /// `nil` while it is skipped.
    private func choice(of item: SessionPlan.Item) -> Int? {
        progress.skipped.contains(item.id) ? nil : item.chosen
    }

    /// Which of its item's exercises somebody did in a piece: what was told of its round, else what was on at half of its
    /// time; `nil` of one that was skipped.
    func exercise(of piece: ClockedPiece, _ clock: ActiveClock) -> Int? {
        let item = item(of: piece)
        if let done = completed(item.id, round: piece.round) { return done.exercise ?? 0 }
        guard plan.blocks[piece.block].timer.isPaced else { return item.chosen }
        let middle = clock.start(of: piece.from + (piece.to - piece.from) / 2)
        let last = middle.flatMap { middle in progress.changes.last { $0.item == item.id && $0.at <= middle } }
        return last.map(\.exercise) ?? 0
    }
}
