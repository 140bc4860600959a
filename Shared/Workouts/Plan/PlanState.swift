/// The planned part of a session's state: plan, progress and clock.
package struct PlanState: Codable, Equatable, Sendable {
    package var plan: SessionPlan
    package var progress: ProgressReport
    package var timer: TimerReport

    package init(plan: SessionPlan, progress: ProgressReport, timer: TimerReport) {
        self.plan = plan
        self.progress = progress
        self.timer = timer
    }

    /// Whether plan and progress of a payload belong together. Readers display nothing of an inconsistent state.
    package var isConsistent: Bool {
        PlannedWorkout(plan: plan, progress: progress.progress) != nil
            && plan.blocks.indices.contains(timer.block) && (1...PlanLimits.rounds).contains(timer.round)
            && plan.item(progress.item) != nil
    }

    /// The item after the current rest, if the clock makes exercises take turns and the next item is not skipped; else
    /// `nil`.
    package var next: SessionPlan.Item? {
        plan.blocks[timer.block].next(after: timer.round, timer.phase, skipped: progress.progress.skipped)
    }
}

/// The plan's clock at a moment. A reader continues it by itself.
package struct TimerReport: Codable, Equatable, Sendable {
    /// The number of the block, from 0.
    package var block: Int
    package var type: TimerConfiguration.Kind
    package var phase: PlanTimer.Phase
    /// The current round, from 1.
    package var round: Int
    /// The number of rounds; absent for as many as possible.
    package var rounds: Int?
    /// Seconds on the block's clock at `asOf`.
    package var elapsed: Double
    package var asOf: Timestamp
    /// The end of the phase while the clock runs; absent if the phase has no time limit.
    package var endsAt: Timestamp?
    /// Seconds left of the phase while the clock is stopped.
    package var remaining: Double?

    init(_ timer: PlanTimer, asOf: Timestamp, _ clock: ActiveClock) {
        block = timer.block
        type = timer.type
        phase = timer.phase
        round = timer.round
        rounds = timer.rounds
        elapsed = Double(timer.elapsed) / 1e6
        self.asOf = asOf
        if clock.isRunning {
            endsAt = timer.phaseEnd.flatMap(clock.start)
        } else {
            remaining = timer.phaseEnd.map { Double($0 - timer.active) / 1e6 }
        }
    }
}

/// A summary of a plan's progress.
package struct ProgressReport: Equatable, Sendable {
    /// The current item.
    package var item: String
    /// The item's first open set, from 0; absent if all are completed.
    package var set: Int?
    /// The number of completed exercises; skipped ones do not count.
    package var done: Int
    package var total: Int
    package var progress: PlanProgress
}

extension ProgressReport: Codable {
    private enum Key: String, CodingKey {
        case item, set, done, total
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        item = try container.decode(String.self, forKey: .item)
        set = try container.decodeIfPresent(Int.self, forKey: .set)
        done = try container.decode(Int.self, forKey: .done)
        total = try container.decode(Int.self, forKey: .total)
        progress = try PlanProgress(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        try progress.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(item, forKey: .item)
        try container.encodeIfPresent(set, forKey: .set)
        try container.encode(done, forKey: .done)
        try container.encode(total, forKey: .total)
    }
}

extension PlannedWorkout {
    func state(at time: Timestamp, _ segments: [Segment]) -> PlanState {
        let clock = ActiveClock(segments)
        let timer = timer(at: time, clock)
        return PlanState(
            plan: plan, progress: report(timer, at: time, segments),
            timer: TimerReport(timer, asOf: time, clock))
    }

    func report(_ timer: PlanTimer, at time: Timestamp, _ segments: [Segment]) -> ProgressReport {
        let exercises = exercises(at: time, segments)
        return ProgressReport(
            item: timer.item, set: plan.item(timer.item).flatMap { openSet($0, round: timer.round) },
            done: exercises.done,
            total: exercises.total, progress: progress)
    }
}

extension SessionPlan {
    /// The result of as many rounds as possible.
    package struct Score: Equatable, Sendable {
        /// The completed rounds.
        package var rounds: Int
        /// The repetitions of the round after them.
        package var repetitions: Int
    }

    /// The result of an AMRAP block; `nil` for any other block, or before its first completed set.
    package func score(_ progress: PlanProgress, block: Int) -> Score? {
        guard blocks.indices.contains(block), blocks[block].timer.type == .amrap,
            let planned = PlannedWorkout(plan: self, progress: progress)
        else { return nil }
        let sets = blocks[block].items.flatMap { progress.completed[$0.id] ?? [] }
        guard !sets.isEmpty else { return nil }
        let open = planned.openRound(block) ?? PlanLimits.rounds + 1
        let repetitions = sets.reduce(0) { $0 + ($1.round == open ? $1.repetitions ?? 0 : 0) }
        return Score(rounds: open - 1, repetitions: repetitions)
    }

    /// The result of the last AMRAP block; `nil` without one.
    package func score(_ progress: PlanProgress) -> Score? {
        blocks.indices.reversed().lazy.compactMap { score(progress, block: $0) }.first
    }
}
