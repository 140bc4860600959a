/// The plan of a session with its progress. A value: actions and times go in, and what it shows at any time is computed.
package struct PlannedWorkout: Codable, Equatable, Sendable {
    package internal(set) var plan: SessionPlan
    package internal(set) var progress: PlanProgress

    /// - Parameter start: when the session is active.
    package init(_ plan: SessionPlan, start: Timestamp) {
        self.plan = plan
        progress = PlanProgress(start: start)
    }

    /// `nil` when it is the progress of another plan.
    init?(plan: SessionPlan, progress: PlanProgress) {
        guard progress.validationError(of: plan) == nil else { return nil }
        self.plan = plan
        self.progress = progress
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        plan = try container.decode(SessionPlan.self, forKey: .plan)
        progress = try container.decode(PlanProgress.self, forKey: .progress)
        if let error = progress.validationError(of: plan) {
            throw DecodingError.dataCorruptedError(forKey: .progress, in: container, debugDescription: error)
        }
    }
}

/// A stretch of active time that the clock of a block makes a set or a rest of.
struct ClockedPiece {
    let block: Int
    let kind: PlannedWorkout.PerformedSet.Kind
    /// From 1.
    let round: Int
    /// Microseconds of active time.
    let from: Int64
    let to: Int64
}

extension PlannedWorkout {
    /// Work and rest of the blocks that their clocks pace, and countdowns of which no set was completed, in the order of time.
    ///
    /// - Parameter active: how far it has come.
    func pieces(_ spans: [BlockSpan], until active: Int64) -> [ClockedPiece] {
        spans.filter { $0.from < active }.flatMap { span -> [ClockedPiece] in
            let block = plan.blocks[span.block]
            guard let total = block.timer.total else { return [] }
            /// What the clock showed in the end.
            let end = min(span.clock + min(span.to ?? active, active) - span.from, total)
            guard end > span.clock else { return [] }
            if block.timer.isPaced { return paces(span, until: end) }
            let isClocked =
                block.timer.type == .countdown && !isSkipped(block)
                && block.items.allSatisfy { progress.completed[$0.id] == nil }
            guard isClocked else { return [] }
            return [
                ClockedPiece(
                    block: span.block, kind: .active, round: 1, from: span.from, to: span.from + end - span.clock)
            ]
        }
    }

    private func paces(_ span: BlockSpan, until end: Int64) -> [ClockedPiece] {
        let timer = plan.blocks[span.block].timer
        /// The active time at which the clock showed nothing, or would have.
        let zero = span.from - span.clock
        var pieces: [ClockedPiece] = []
        var shown = span.clock
        while shown < end {
            let round = Int(shown / timer.cycle) + 1
            let begin = Int64(round - 1) * timer.cycle
            let isWork = shown - begin < timer.workLength
            let over = min(end, begin + (isWork ? timer.workLength : timer.cycle))
            pieces.append(
                ClockedPiece(
                    block: span.block, kind: isWork ? .active : .rest, round: round, from: zero + shown, to: zero + over
                ))
            shown = over
        }
        return pieces
    }
}

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

extension PlannedWorkout {
    /// A round that was done to its end.
    package struct Round: Codable, Hashable, Sendable {
        package var block: Int
        /// From 1.
        package var number: Int
        package var startedAt: Timestamp
        package var endedAt: Timestamp
    }

    /// The rounds that were done to their end, where there are more than one of a block: of interval and emom blocks those
    /// whose work is over and was not skipped, of the others those of which every set is done.
    package func rounds(_ segments: [Segment], endedAt: Timestamp) -> [Round] {
        let clock = ActiveClock(segments)
        let spans = spans(clock)
        let pieces = pieces(spans, until: clock.active(at: endedAt))
        return plan.blocks.indices.flatMap { number -> [Round] in
            let block = plan.blocks[number]
            guard block.timer.plannedRounds ?? 2 > 1 else { return [] }
            return block.timer.isPaced
                ? paced(pieces.filter { $0.block == number && $0.kind == .active }, block.timer.workLength, clock)
                : counted(number, spans, clock)
        }
    }

    private func paced(_ pieces: [ClockedPiece], _ work: Int64, _ clock: ActiveClock) -> [Round] {
        // One of several pieces is a round that somebody left for another block, and came back to.
        Dictionary(grouping: pieces, by: \.round).sorted { $0.key < $1.key }.compactMap { number, pieces in
            guard pieces.reduce(0, { $0 + $1.to - $1.from }) >= work,
                pieces.contains(where: { exercise(of: $0, clock) != nil })
            else { return nil }
            return round(pieces[0].block, number, pieces[0].from, pieces[pieces.count - 1].to, clock)
        }
    }

    /// Rounds of a block whose sets say how far it has come.
    private func counted(_ number: Int, _ spans: [BlockSpan], _ clock: ActiveClock) -> [Round] {
        let block = plan.blocks[number]
        let items = block.items.filter { !progress.skipped.contains($0.id) }
        guard !items.isEmpty, var begin = spans.first(where: { $0.block == number })?.from else { return [] }
        let last = openRound(number).map { $0 - 1 } ?? lastRound(number)
        return (0..<last).compactMap { index in
            let ends = items.flatMap { item in
                (progress.completed[item.id] ?? []).lazy.filter { $0.round == index + 1 }.map {
                    clock.active(at: $0.at)
                }
            }
            guard let end = ends.max() else { return nil }
            defer { begin = end }
            return round(number, index + 1, min(begin, end), end, clock)
        }
    }

    private func round(_ block: Int, _ number: Int, _ from: Int64, _ to: Int64, _ clock: ActiveClock) -> Round? {
        guard let start = clock.start(of: from), let end = clock.end(of: to) else { return nil }
        return Round(block: block, number: number, startedAt: min(start, end), endedAt: end)
    }
}
