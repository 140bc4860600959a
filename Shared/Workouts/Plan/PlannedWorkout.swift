/// The plan of a session with its progress: a value that takes actions with their times. Its clock is computed.
package struct PlannedWorkout: Codable, Equatable, Sendable {
    package internal(set) var plan: SessionPlan
    package internal(set) var progress: PlanProgress

    /// - Parameter start: the moment at which the session becomes active.
    package init(_ plan: SessionPlan, start: Timestamp) {
        self.plan = plan
        progress = PlanProgress(start: start)
    }

    /// `nil` if the progress does not belong to the plan.
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

/// A span of active time that a block's clock defines as a set or a rest.
struct ClockedPiece {
    let block: Int
    let kind: PlannedWorkout.PerformedSet.Kind
    /// The round, from 1.
    let round: Int
    /// Microseconds of active time.
    let from: Int64
    let to: Int64
}

extension PlannedWorkout {
    /// The pieces that clocks define, sorted by time: work and rest of paced blocks, and countdowns without a completed
    /// set.
    ///
    /// - Parameter active: the active time so far.
    func pieces(_ spans: [BlockSpan], until active: Int64) -> [ClockedPiece] {
        spans.filter { $0.from < active }.flatMap { span -> [ClockedPiece] in
            let block = plan.blocks[span.block]
            guard let total = block.timer.total else { return [] }
            /// The clock at the end of the span.
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
        /// The active time at which the clock shows zero.
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

/// The position in a plan.
extension PlannedWorkout {
    mutating func skip(_ place: SessionPlan.Place, _ now: PlanTimer, _ at: Timestamp) throws(Refusal) {
        let item = plan[place]
        if areSetsDone(place) {
            throw .invalidState("\(item.exercise.name) cannot be skipped: every set is completed; undo a set first")
        }
        progress.skipped.insert(item.id)
        if item.id == now.item { advance(from: place, now, at) }
    }

    /// Continues after an item is completed or skipped: with the next item of the block, or with the next open block.
    ///
    /// A block with a clock of its own begins only by an action, unless all of this block was skipped.
    mutating func advance(from place: SessionPlan.Place, _ before: PlanTimer, _ at: Timestamp) {
        // A late report does not move a user who already went elsewhere.
        if hasMoved(from: place, since: at) { return }
        let at = max(at, progress.focus?.at ?? at)
        let block = plan.blocks[place.block]
        let isSkipped = isSkipped(block)
        if !isSkipped, block.timer.isPaced { return }
        if let round = openRound(place.block) {
            // A round begins with its first item.
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

    /// Whether the user went to another block or exercise after a moment.
    func hasMoved(from place: SessionPlan.Place, since at: Timestamp) -> Bool {
        if let last = progress.visits.last, last.at > at, last.block != place.block { return true }
        guard let focus = progress.focus else { return false }
        return focus.at > at && focus.item != plan[place].id
    }

    mutating func go(
        to place: SessionPlan.Place, _ now: PlanTimer, _ at: Timestamp, _ clock: ActiveClock
    ) throws(Refusal) {
        let block = plan.blocks[place.block]
        let item = plan[place]
        if hasMoved(from: place, since: at) {
            progress.skipped.remove(item.id)
            return
        }
        if place.block != now.block {
            guard !isTimeOver(place.block, now.active, spans(clock)) else {
                throw .invalidState("the time of \(item.id)'s block is over; choose an item of another block")
            }
            guard progress.visits.count < PlanLimits.visits else {
                throw .invalidState("a workout has at most \(PlanLimits.visits) changes of block")
            }
            enter(place.block, at)
        } else if block.timer.isPaced, !progress.skipped.contains(item.id) {
            throw .invalidState(
                "the clock chooses the item of the current block; skip or swap items, or choose another block")
        }
        progress.skipped.remove(item.id)
        progress.focus = block.timer.isPaced ? nil : .init(item: item.id, at: at)
    }

    mutating func enter(_ block: Int, _ at: Timestamp) {
        progress.visits.append(.init(block: block, at: max(at, progress.visits.last?.at ?? at)))
    }
}

extension PlannedWorkout {
    /// A completed round.
    package struct Round: Codable, Hashable, Sendable {
        package var block: Int
        /// The number of the round, from 1.
        package var number: Int
        package var startedAt: Timestamp
        package var endedAt: Timestamp
    }

    /// The completed rounds of blocks with more than one. In interval and emom blocks a round is completed when its
    /// work is over and was not skipped, in other blocks when all its sets are completed.
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
        // The user may leave a round for another block and return: several pieces are one round.
        Dictionary(grouping: pieces, by: \.round).sorted { $0.key < $1.key }.compactMap { number, pieces in
            guard pieces.reduce(0, { $0 + $1.to - $1.from }) >= work,
                pieces.contains(where: { exercise(of: $0, clock) != nil })
            else { return nil }
            return round(pieces[0].block, number, pieces[0].from, pieces[pieces.count - 1].to, clock)
        }
    }

    /// Rounds of a block that advances by completed sets.
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
