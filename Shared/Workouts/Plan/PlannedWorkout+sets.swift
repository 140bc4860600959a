/// Completing and undoing sets.
extension PlannedWorkout {
    mutating func complete(
        _ completion: SetCompletion, _ place: SessionPlan.Place, _ now: PlanTimer, _ at: Timestamp
    ) throws(Refusal) {
        if let error = completion.validationError { throw .invalidCommand(error) }
        let item = plan[place]
        let round = try round(completion.reference, place, now)
        let number = try number(completion.reference, item, round)
        var sets = progress.completed[item.id] ?? []
        let known = sets.firstIndex { $0.round == round && $0.set == number }
        var done: CompletedSet
        if let known {
            done = sets.remove(at: known)
            // Several devices may report one set. The earliest moment counts.
            done.at = min(done.at, at)
        } else {
            guard progress.completedCount < PlanLimits.sets else {
                throw .invalidState("a workout has at most \(PlanLimits.sets) completed sets")
            }
            done = CompletedSet(item.sets[number], round: round, set: number, exercise: item.chosen, at: at)
        }
        done.repetitions = completion.repetitions ?? done.repetitions
        done.weight = completion.weight ?? done.weight
        done.time = completion.time ?? done.time
        sets.insert(done, at: sets.firstIndex { ($0.round, $0.set) > (round, number) } ?? sets.count)
        progress.completed[item.id] = sets
        guard known == nil else { return }
        // The completed set revokes an earlier skip.
        if areSetsDone(place) || !wasSkipped(place, after: at) { progress.skipped.remove(item.id) }
        let isOn = item.id == now.item || (place.block == now.block && openRound(place.block) == nil)
        if isOn, openSet(item, round: now.round) == nil { advance(from: place, now, at) }
    }

    /// Whether an exercise was skipped after a moment. Paced blocks record skips; elsewhere a later position implies
    /// one.
    private func wasSkipped(_ place: SessionPlan.Place, after at: Timestamp) -> Bool {
        guard plan.blocks[place.block].timer.isPaced else { return hasMoved(from: place, since: at) }
        let last = progress.changes.last { $0.item == plan[place].id }
        return last.map { $0.exercise == nil && $0.at > at } ?? false
    }

    /// The round of an item that a reference means: by default the current one, or the first with an open set.
    private func round(_ reference: SetReference, _ place: SessionPlan.Place, _ now: PlanTimer) throws(Refusal) -> Int {
        let block = plan.blocks[place.block]
        let item = plan[place]
        let rounds = block.rounds(of: place.item)
        guard let first = rounds.first, let last = rounds.last else {
            throw .invalidState("\(item.id) has no turn in any of \(block.timer.plannedRounds ?? 0) rounds")
        }
        if let round = reference.round {
            guard rounds.contains(round) else {
                let turns =
                    rounds.count > 3
                    ? "\(first), \(rounds[1]) … \(last)" : rounds.map(String.init).joined(separator: ", ")
                throw .invalidCommand("round: \(item.id) has no turn in round \(round); its turns: \(turns)")
            }
            if block.timer.isPaced, now.block == place.block, round > now.round {
                throw .invalidState("round \(round) has not begun; the current round is \(now.round)")
            }
            return round
        }
        if block.timer.isPaced, now.block == place.block {
            guard let round = rounds.last(where: { $0 <= now.round }) else {
                throw .invalidState("\(item.id) has its first turn in round \(first)")
            }
            return round
        }
        return rounds.first { openSet(item, round: $0) != nil } ?? last
    }

    /// The index of the set that a reference means: by default the first open one of the round.
    private func number(_ reference: SetReference, _ item: SessionPlan.Item, _ round: Int) throws(Refusal) -> Int {
        guard let given = reference.set else {
            if let open = openSet(item, round: round) { return open }
            // A round with one set can be corrected without naming the set.
            if reference.round != nil, item.sets.count == 1 { return 0 }
            throw .invalidState("every set of \(item.exercise.name) is completed; name a set to correct it")
        }
        guard item.sets.indices.contains(given) else {
            let count = item.sets.count == 1 ? "1 set" : "\(item.sets.count) sets"
            // No number: commands count sets from 0, people from 1.
            throw .invalidCommand("set: out of range; \(item.exercise.name) has \(count)")
        }
        return given
    }

    mutating func uncomplete(_ reference: SetReference, _ at: Timestamp, _ clock: ActiveClock) throws(Refusal) {
        if let id = reference.item, plan.place(of: id) == nil { throw .noSuchItem(id, in: plan) }
        let all = progress.completed.flatMap { item, sets in sets.map { (item: item, set: $0) } }
            .sorted { ($0.set.order, $0.item) < ($1.set.order, $1.item) }
        let index = all.lastIndex { item, set in
            (reference.item ?? item) == item && (reference.set ?? set.set) == set.set
                && (reference.round ?? set.round) == set.round
        }
        guard let index, let place = plan.place(of: all[index].item) else {
            throw .invalidState("no completed set matches the item, set and round of the command")
        }
        let (item, set) = all[index]
        let left = progress.completed[item]?.filter { ($0.round, $0.set) != (set.round, set.set) } ?? []
        progress.completed[item] = left.isEmpty ? nil : left
        // The set led to the next block, where nothing was completed since.
        if index == all.count - 1, progress.visits.count > 1, progress.visits.last?.at == set.at,
            progress.visits.last?.block == timer(at: at, clock).block
        {
            progress.visits.removeLast()
        }
        // The set is open again, unless its clock continues without it.
        let now = timer(at: at, clock)
        guard !plan.blocks[place.block].timer.isPaced else { return }
        if place.block != now.block {
            // The current block has nothing open.
            guard openRound(now.block) == nil, !isTimeOver(place.block, now.active, spans(clock)),
                progress.visits.count < PlanLimits.visits
            else { return }
            enter(place.block, at)
        }
        progress.focus = .init(item: item, at: at)
    }
}

extension CompletedSet {
    /// A set completed as planned.
    fileprivate init(_ planned: PlannedSet, round: Int, set: Int, exercise: Int, at: Timestamp) {
        self.init(
            round: round, set: set, at: at, exercise: exercise == 0 ? nil : exercise, repetitions: planned.repetitions,
            weight: planned.weight, time: planned.time, rest: planned.rest)
    }
}

extension PlannedWorkout {
    /// A set or a rest as it happened.
    package struct PerformedSet: Equatable, Sendable {
        package enum Kind: Sendable {
            case active, rest
        }

        package var kind: Kind
        package var start: Timestamp
        package var end: Timestamp
        /// Seconds without pauses.
        package var duration: Double
        /// The exercise; `nil` for a rest.
        package var exercise: PlannedExercise?
        package var repetitions: Int?
        /// Kilograms.
        package var weight: Double?
    }

    /// The sets as they happened, and the rests between them, sorted by time and without overlap.
    ///
    /// In interval and emom blocks the clock defines the sets. A completed round contributes its repetitions; otherwise
    /// the exercise that was current at half of the time counts. A skipped exercise becomes a rest, and so does the
    /// remainder of an emom minute.
    ///
    /// In other blocks a set ends when it is completed. It begins as long before as its reported duration. Without a
    /// duration it begins when the rest after the previous set was over, or at the end of that set if this one was
    /// completed sooner. A countdown without a completed set is one set. A set completed while another block's clock
    /// defines sets counts as done before that block.
    package func performedSets(_ segments: [Segment], endedAt: Timestamp) -> [PerformedSet] {
        let clock = ActiveClock(segments)
        let spans = spans(clock)
        let pieces = pieces(spans, until: clock.active(at: endedAt))
        let clocked = pieces.indices.flatMap { performed(pieces[$0], pieces[($0 + 1)...], clock) }
        return (clocked + reported(pieces, spans, clock)).sorted { ($0.start, $0.end) < ($1.start, $1.end) }
    }

    /// A set or rest that the clock defines. In an emom block the rest of the minute after the set is a rest.
    private func performed(
        _ piece: ClockedPiece, _ later: ArraySlice<ClockedPiece>, _ clock: ActiveClock
    ) -> [PerformedSet] {
        let exercise = piece.kind == .active ? exercise(of: piece, clock) : nil
        guard let exercise else { return [performed(.rest, piece.from, piece.to, clock)].compactMap(\.self) }
        let item = item(of: piece)
        let done = completed(item.id, round: piece.round)
        // A round that the user left and returned to is completed with its last piece.
        let isLast = !later.contains { ($0.block, $0.kind, $0.round) == (piece.block, piece.kind, piece.round) }
        var end = piece.to
        if isLast, plan.blocks[piece.block].timer.type == .emom, let done {
            let at = clock.active(at: done.at)
            if piece.from < at, at < piece.to { end = at }
        }
        guard var set = performed(.active, piece.from, end, clock) else { return [] }
        set.exercise = item.exercises[exercise]
        set.repetitions = isLast ? done?.repetitions : nil
        set.weight = isLast ? done?.weight : nil
        return [set, end < piece.to ? performed(.rest, end, piece.to, clock) : nil].compactMap(\.self)
    }

    func item(of piece: ClockedPiece) -> SessionPlan.Item {
        let block = plan.blocks[piece.block]
        if block.timer.isPaced { return block.items[block.turn(of: piece.round)] }
        return block.items.first { !progress.skipped.contains($0.id) } ?? block.items[0]
    }

    private func performed(_ kind: PerformedSet.Kind, _ from: Int64, _ to: Int64, _ clock: ActiveClock) -> PerformedSet?
    {
        guard let start = clock.start(of: from), let end = clock.end(of: to) else { return nil }
        return PerformedSet(kind: kind, start: min(start, end), end: end, duration: Double(to - from) / 1e6)
    }

    /// Reported sets that no clock defines, and the rests between them.
    private func reported(_ pieces: [ClockedPiece], _ spans: [BlockSpan], _ clock: ActiveClock) -> [PerformedSet] {
        let clocked = Set(
            pieces.lazy.filter { $0.kind == .active }.map { SetReference(item: item(of: $0).id, round: $0.round) })
        let unclocked = plan.blocks.flatMap(\.items).flatMap { item in
            (progress.completed[item.id] ?? []).lazy
                .filter { !clocked.contains(SetReference(item: item.id, round: $0.round)) }.map {
                    (item: item, set: $0)
                }
        }
        var sets: [PerformedSet] = []
        var before: (end: Int64, rest: Int64)?
        for (item, set) in unclocked.sorted(by: { ($0.set.order, $0.item.id) < ($1.set.order, $1.item.id) }) {
            var end = clock.active(at: set.at)
            if let piece = pieces.first(where: { $0.from < end && end < $0.to }) { end = piece.from }
            // The set that ends a block belongs to it, although the next block begins at the same moment.
            let entered = spans.last { $0.from < end }?.from ?? 0
            let free = max(entered, before?.end ?? 0, pieces.last { $0.to <= end }?.to ?? 0)
            let rested = max(free, before.map { $0.end + $0.rest } ?? 0)
            var start = rested < end ? rested : min(free, end)
            if let time = set.time { start = min(max(free, end - TimerConfiguration.microseconds(time)), end) }
            if free == before?.end, start > free, let rest = performed(.rest, free, start, clock) { sets.append(rest) }
            if var active = performed(.active, start, end, clock) {
                active.exercise = item.exercises[set.exercise ?? 0]
                active.repetitions = set.repetitions
                active.weight = set.weight
                sets.append(active)
            }
            before = (end, TimerConfiguration.microseconds(set.rest ?? 0))
        }
        return sets
    }
}
