/// The announcement of a phase of a plan's clock.
package struct PlanCue: Equatable, Sendable {
    /// Identifies the phase: two cues of equal phases are the same announcement.
    package struct Phase: Codable, Hashable, Sendable {
        package var block: Int
        package var phase: PlanTimer.Phase
        package var round: Int
        /// The exercise, in a block in which sets lead from one to the next within a round.
        package var item: String?
        /// The set whose time is up, from 0; only with `over`.
        package var overdue: Int?
        /// Microseconds of active time at which the rest after a set began. It distinguishes the rests of two sets.
        package var restedFrom: Int64?

        init(_ timer: PlanTimer) {
            block = timer.block
            phase = timer.phase
            round = timer.round
            item = [.amrap, .forTime].contains(timer.type) ? timer.item : nil
            overdue = timer.overdue
            restedFrom = timer.phase == .rest && timer.type != .interval ? timer.phaseStart : nil
        }
    }

    package var phase: Phase
    /// The start of the phase.
    package var at: Timestamp
    /// The text to announce: `Round 3 of 8: Sprint`, `Rest, 1:30`, or `Rest, 0:10, then Row` when exercises take turns.
    package var text: String
}

extension PlannedWorkout {
    /// The announcement of the current phase.
    func cue(_ timer: PlanTimer, at time: Timestamp, _ clock: ActiveClock) -> PlanCue {
        PlanCue(phase: .init(timer), at: clock.start(of: timer.phaseStart) ?? time, text: text(timer))
    }

    /// The exercise that begins a round.
    private func firstInRound(_ block: SessionPlan.Block) -> String? {
        (block.items.first { !progress.skipped.contains($0.id) } ?? block.items.first)?.id
    }

    private func text(_ timer: PlanTimer) -> String {
        let item = plan.item(timer.item)
        let isSkipped = progress.skipped.contains(timer.item)
        let name = (item?.exercise.name ?? timer.item) + (isSkipped ? ", skipped" : "")
        switch timer.phase {
        case .rest:
            let seconds = timer.phaseEnd.map { Int((Double(max(0, $0 - timer.phaseStart)) / 1e6).rounded()) }
            let rest = seconds.map { "Rest, \($0 / 60):\($0 % 60 < 10 ? "0" : "")\($0 % 60)" } ?? "Rest"
            let next = plan.blocks[timer.block].next(after: timer.round, .rest, skipped: progress.skipped)
            return next.map { "\(rest), then \($0.exercise.name)" } ?? rest
        case .over: return openRound(timer.block) == nil ? "Done" : "Time is up"
        case .work:
            let of = timer.rounds.map { " of \($0)" } ?? ""
            let block = plan.blocks[timer.block]
            let isFirst = block.timer.isPaced || timer.item == firstInRound(block)
            if timer.rounds != 1, isFirst { return "Round \(timer.round)\(of): \(name)" }
            guard let item, item.sets.count > 1, let set = openSet(item, round: timer.round) else { return name }
            return "\(name), set \(set + 1) of \(item.sets.count)"
        }
    }
}
