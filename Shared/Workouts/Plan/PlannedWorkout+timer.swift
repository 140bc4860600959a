extension PlannedWorkout {
    /// The state of the clock at a moment.
    package func timer(at time: Timestamp, _ segments: [Segment]) -> PlanTimer {
        timer(at: time, ActiveClock(segments))
    }

    func timer(at time: Timestamp, _ clock: ActiveClock) -> PlanTimer {
        let active = clock.active(at: time)
        let spans = spans(clock)
        // The first span begins with the session.
        let span = spans.last { $0.from <= active } ?? spans[0]
        let block = plan.blocks[span.block]
        var timer = PlanTimer(
            block: span.block, type: block.timer.type, phase: .work, round: 1, rounds: block.timer.plannedRounds,
            item: block.items[0].id, elapsed: span.clock + active - span.from, active: active, phaseStart: span.from)
        if block.timer.isPaced {
            pace(&timer, clock)
        } else {
            follow(&timer, clock, spans)
        }
        // At this moment another block takes over. The user may also leave and return at one moment.
        let left = spans.lazy.map(\.from).first { from in
            from > active && spans.last { $0.from <= from }?.block != span.block
        }
        if let left { timer.phaseEnd = min(timer.phaseEnd ?? left, left) }
        return timer
    }

    /// Sets round, phase and exercise from the clock.
    private func pace(_ timer: inout PlanTimer, _ clock: ActiveClock) {
        let block = plan.blocks[timer.block]
        let configuration = block.timer
        /// The active time at which the clock shows zero.
        let zero = timer.active - timer.elapsed
        if let total = configuration.total, timer.elapsed >= total {
            timer.round = lastRound(timer.block)
            timer.end(at: zero + total, showing: total)
        } else {
            timer.round = Int(timer.elapsed / configuration.cycle) + 1
            let begin = Int64(timer.round - 1) * configuration.cycle
            let isWork = timer.elapsed - begin < configuration.workLength
            timer.phase = isWork ? .work : .rest
            timer.phaseStart = max(timer.phaseStart, zero + begin + (isWork ? 0 : configuration.workLength))
            timer.phaseEnd = zero + begin + (isWork ? configuration.workLength : configuration.cycle)
        }
        timer.item = block.items[block.turn(of: timer.round)].id
        // The remainder of an emom minute is a rest.
        if configuration.type == .emom, timer.phase == .work, let done = completed(timer.item, round: timer.round) {
            timer.phase = .rest
            timer.phaseStart = max(timer.phaseStart, clock.active(at: done.at))
        }
    }

    /// Sets round, phase and exercise from the completed sets; time only ends the block.
    private func follow(_ timer: inout PlanTimer, _ clock: ActiveClock, _ spans: [BlockSpan]) {
        let block = plan.blocks[timer.block]
        let open = openRound(timer.block)
        timer.round = open ?? lastRound(timer.block)
        let entered = timer.phaseStart
        let focused = block.items.first { $0.id == progress.focus?.item }
        if focused != nil, let focus = progress.focus {
            timer.phaseStart = max(timer.phaseStart, clock.active(at: focus.at))
        }
        let item = focused ?? firstOpen(timer.block, round: timer.round) ?? block.items[0]
        timer.item = item.id
        guard open != nil else { return finish(&timer, clock, spans) }
        if let total = block.timer.total {
            let over = timer.active - timer.elapsed + total
            if timer.active >= over { return timer.end(at: over, showing: total) }
            timer.phaseEnd = over
        }
        if let rest = rest(timer.block, clock) {
            if timer.active < rest.to {
                timer.phase = .rest
                timer.phaseStart = max(entered, rest.from)
                timer.phaseEnd = min(rest.to, timer.phaseEnd ?? .max)
                return
            }
            timer.phaseStart = max(timer.phaseStart, rest.to)
        }
        guard let set = openSet(item, round: timer.round), let seconds = item.sets[set].time else { return }
        let timeUp = timer.phaseStart + TimerConfiguration.microseconds(seconds)
        if timer.active >= timeUp {
            timer.phase = .over
            timer.phaseStart = timeUp
            timer.overdue = set
        } else {
            timer.phaseEnd = min(timeUp, timer.phaseEnd ?? .max)
        }
    }

    /// Everything is completed. The clock of work against time stops; other clocks continue to their end.
    private func finish(_ timer: inout PlanTimer, _ clock: ActiveClock, _ spans: [BlockSpan]) {
        timer.phase = .over
        let last = progress.lastCompleted { plan.place(of: $0)?.block == timer.block }
        if let done = last.map({ clock.active(at: $0.set.at) }) {
            timer.phaseStart = max(timer.phaseStart, done)
            if timer.type == .forTime { timer.elapsed = elapsed(timer.block, done, spans) }
        }
        if let total = plan.blocks[timer.block].timer.total { timer.elapsed = min(timer.elapsed, total) }
    }

    /// The rest after the last set, in active time. It continues into the next block only if that block has no clock of
    /// its own. A set from a device whose clock is ahead starts its rest at once.
    private func rest(_ block: Int, _ clock: ActiveClock) -> (from: Int64, to: Int64)? {
        guard let last = progress.lastCompleted() else { return nil }
        let isCarried = plan.blocks[block].timer.type == .stopwatch
        guard isCarried || plan.place(of: last.item)?.block == block else { return nil }
        let from = clock.active(at: last.set.at)
        return (from, from + TimerConfiguration.microseconds(last.set.rest ?? 0))
    }
}

/// A span of active time that belongs to one block.
struct BlockSpan: Equatable {
    let block: Int
    /// Microseconds of active time; `to` is `nil` for the last span.
    let from: Int64
    let to: Int64?
    /// Microseconds on the block's clock at the start of the span.
    let clock: Int64
}

extension PlannedWorkout {
    /// The block of each active time.
    ///
    /// A block whose time is over leads to the next. A block's clock stops while another block is current.
    func spans(_ clock: ActiveClock) -> [BlockSpan] {
        var spans: [BlockSpan] = []
        var shown = [Int64](repeating: 0, count: plan.blocks.count)
        var from: Int64 = 0
        for (index, visit) in progress.visits.enumerated() {
            // The first visit begins with the session; each ends where the next begins.
            let next = index + 1 < progress.visits.count ? progress.visits[index + 1].at : nil
            let until = next.map { max(from, clock.active(at: $0)) }
            var block = visit.block
            while let total = plan.blocks[block].timer.total, block + 1 < plan.blocks.count {
                let over = from + max(0, total - shown[block])
                if let until, over > until { break }
                spans.append(BlockSpan(block: block, from: from, to: over, clock: shown[block]))
                shown[block] = max(total, shown[block])
                from = over
                block += 1
            }
            spans.append(BlockSpan(block: block, from: from, to: until, clock: shown[block]))
            guard let until else { break }
            shown[block] += until - from
            from = until
        }
        return spans
    }

    /// The block's clock at an active time.
    func elapsed(_ block: Int, _ active: Int64, _ spans: [BlockSpan]) -> Int64 {
        guard let span = spans.last(where: { $0.block == block && $0.from <= active }) else { return 0 }
        return span.clock + min(active, span.to ?? .max) - span.from
    }

    /// Whether a block's time is over.
    func isTimeOver(_ block: Int, _ active: Int64, _ spans: [BlockSpan]) -> Bool {
        plan.blocks[block].timer.total.map { elapsed(block, active, spans) >= $0 } ?? false
    }
}
