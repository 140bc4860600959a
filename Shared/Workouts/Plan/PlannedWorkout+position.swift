/// Where somebody is in a plan.
extension PlannedWorkout {
    mutating func skip(_ place: SessionPlan.Place, _ now: PlanTimer, _ at: Timestamp) throws(Refusal) {
        let item = plan[place]
        if areSetsDone(place) { throw .invalidState("every set of \(item.exercise.name) is done") }
        progress.skipped.insert(item.id)
        if item.id == now.item { goOn(from: place, now, at) }
    }

    /// What was on is done or skipped: the next of the block is on, or the next block with something to do when nothing is
    /// left in this one.
    ///
    /// A block with a clock of its own begins only when somebody goes there, unless all of this one was skipped.
    mutating func goOn(from place: SessionPlan.Place, _ before: PlanTimer, _ at: Timestamp) {
        // It was told late, and somebody is elsewhere by now.
        if hasGoneOn(from: place, since: at) { return }
        let at = max(at, progress.focus?.at ?? at)
        let block = plan.blocks[place.block]
        let isSkipped = isSkipped(block)
        if !isSkipped, block.timer.isPaced { return }
        if let round = openRound(place.block) {
            // A round begins with its first.
            let others = block.items[(place.item + 1)...] + block.items[...place.item]
            let order = round == before.round ? others : block.items[...]
            progress.focus = order.first { isOpen($0, round: round) }.map { .init(item: $0.id, at: at) }
            return
        }
        let isLeft = isSkipped || block.timer.type == .stopwatch || block.timer.type == .forTime
        let next = plan.blocks.indices.dropFirst(place.block + 1).first { openRound($0) != nil }
        guard let next, isLeft, isSkipped || plan.blocks[next].timer.type == .stopwatch,
            progress.visits.count < PlanLimits.visits
        else { return }
        enter(next, at)
        progress.focus = nil
    }

    /// Whether somebody went to another block or exercise after a moment.
    func hasGoneOn(from place: SessionPlan.Place, since at: Timestamp) -> Bool {
        if let last = progress.visits.last, last.at > at, last.block != place.block { return true }
        guard let focus = progress.focus else { return false }
        return focus.at > at && focus.item != plan[place].id
    }

    mutating func go(
        to place: SessionPlan.Place, _ now: PlanTimer, _ at: Timestamp, _ clock: ActiveClock
    ) throws(Refusal) {
        let block = plan.blocks[place.block]
        let item = plan[place]
        if hasGoneOn(from: place, since: at) {
            progress.skipped.remove(item.id)
            return
        }
        if place.block != now.block {
            guard !isTimeOver(place.block, now.active, spans(clock)) else {
                throw .invalidState("the time of its block is over")
            }
            guard progress.visits.count < PlanLimits.visits else {
                throw .invalidState("somebody went to another block \(PlanLimits.visits) times")
            }
            enter(place.block, at)
        } else if block.timer.isPaced, !progress.skipped.contains(item.id) {
            throw .invalidState("the clock of its block says which exercise is on")
        }
        progress.skipped.remove(item.id)
        progress.focus = block.timer.isPaced ? nil : .init(item: item.id, at: at)
    }

    mutating func enter(_ block: Int, _ at: Timestamp) {
        progress.visits.append(.init(block: block, at: max(at, progress.visits.last?.at ?? at)))
    }
}
