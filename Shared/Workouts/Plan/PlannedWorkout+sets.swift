/// Sets that are done, and taken back.
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
            // Maybe another device told of it too; the first moment counts.
            done.at = min(done.at, at)
        } else {
            guard progress.completedCount < PlanLimits.sets else {
                throw .invalidState("a workout has at most \(PlanLimits.sets) sets")
            }
            done = CompletedSet(item.sets[number], round: round, set: number, exercise: item.chosen, at: at)
        }
        done.repetitions = completion.repetitions ?? done.repetitions
        done.weight = completion.weight ?? done.weight
        done.time = completion.time ?? done.time
        sets.insert(done, at: sets.firstIndex { ($0.round, $0.set) > (round, number) } ?? sets.count)
        progress.completed[item.id] = sets
        guard known == nil else { return }
        // It was done after all, or is left for good since then.
        if areSetsDone(place) || !wasSkipped(place, after: at) { progress.skipped.remove(item.id) }
        let isOn = item.id == now.item || (place.block == now.block && openRound(place.block) == nil)
        if isOn, openSet(item, round: now.round) == nil { goOn(from: place, now, at) }
    }

    /// Whether an exercise was skipped after a moment: in a paced block that is noted, elsewhere somebody has gone on.
    private func wasSkipped(_ place: SessionPlan.Place, after at: Timestamp) -> Bool {
        guard plan.blocks[place.block].timer.isPaced else { return hasGoneOn(from: place, since: at) }
        let last = progress.changes.last { $0.item == plan[place].id }
        return last.map { $0.exercise == nil && $0.at > at } ?? false
    }

    /// The round that is meant of an item: the one that is on, or the first with something left to do.
    private func round(_ reference: SetReference, _ place: SessionPlan.Place, _ now: PlanTimer) throws(Refusal) -> Int {
        let block = plan.blocks[place.block]
        let item = plan[place]
        let rounds = block.rounds(of: place.item)
        guard let first = rounds.first, let last = rounds.last else {
            throw .invalidState("\(item.id) has its turn in none of \(block.timer.plannedRounds ?? 0) rounds")
        }
        if let round = reference.round {
            guard rounds.contains(round) else {
                let turns =
                    rounds.count > 3
                    ? "\(first), \(rounds[1]) … \(last)" : rounds.map(String.init).joined(separator: ", ")
                throw .invalidCommand("round: \(item.id) has no turn in round \(round), but in \(turns)")
            }
            if block.timer.isPaced, now.block == place.block, round > now.round {
                throw .invalidState("round \(now.round) is on, round \(round) has not begun")
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

    /// The set that is meant of a round: the first that is not done when none is named.
    private func number(_ reference: SetReference, _ item: SessionPlan.Item, _ round: Int) throws(Refusal) -> Int {
        guard let given = reference.set else {
            if let open = openSet(item, round: round) { return open }
            // What is said of a round with one set corrects it.
            if reference.round != nil, item.sets.count == 1 { return 0 }
            throw .invalidState("every set of \(item.exercise.name) is done")
        }
        guard item.sets.indices.contains(given) else {
            let count = item.sets.count
            throw .invalidCommand("set: \(item.exercise.name) has \(count) set\(count == 1 ? "" : "s")")
        }
        return given
    }

    mutating func uncomplete(_ reference: SetReference, _ at: Timestamp, _ clock: ActiveClock) throws(Refusal) {
        if let id = reference.item, plan.place(of: id) == nil { throw .noSuchItem(id) }
        let all = progress.completed.flatMap { item, sets in sets.map { (item: item, set: $0) } }
            .sorted { ($0.set.order, $0.item) < ($1.set.order, $1.item) }
        let index = all.lastIndex { item, set in
            (reference.item ?? item) == item && (reference.set ?? set.set) == set.set
                && (reference.round ?? set.round) == set.round
        }
        guard let index, let place = plan.place(of: all[index].item) else {
            throw .invalidState("no such set is completed")
        }
        let (item, set) = all[index]
        let left = progress.completed[item]?.filter { ($0.round, $0.set) != (set.round, set.set) } ?? []
        progress.completed[item] = left.isEmpty ? nil : left
        // It had led to the next block, where nothing was done since.
        if index == all.count - 1, progress.visits.count > 1, progress.visits.last?.at == set.at,
            progress.visits.last?.block == timer(at: at, clock).block
        {
            progress.visits.removeLast()
        }
        // It is to be done again, unless its clock goes on without it.
        let now = timer(at: at, clock)
        guard !plan.blocks[place.block].timer.isPaced else { return }
        if place.block != now.block {
            // Nothing is left to do where somebody is.
            guard openRound(now.block) == nil, !isTimeOver(place.block, now.active, spans(clock)),
                progress.visits.count < PlanLimits.visits
            else { return }
            enter(place.block, at)
        }
        progress.focus = .init(item: item, at: at)
    }
}

extension CompletedSet {
    /// Done as it was planned.
    fileprivate init(_ planned: PlannedSet, round: Int, set: Int, exercise: Int, at: Timestamp) {
        self.init(
            round: round, set: set, at: at, exercise: exercise == 0 ? nil : exercise, repetitions: planned.repetitions,
            weight: planned.weight, time: planned.time, rest: planned.rest)
    }
}

extension PlannedWorkout {
    /// A set, or the rest before the next, as it was done.
    package struct PerformedSet: Equatable, Sendable {
        package enum Kind: Sendable {
            case active, rest
        }

        package var kind: Kind
        package var start: Timestamp
        package var end: Timestamp
        /// Seconds without pauses.
        package var duration: Double
        /// What was done; `nil` of a rest.
        package var exercise: PlannedExercise?
        package var repetitions: Int?
        /// Kilograms.
        package var weight: Double?
    }

    /// The sets as they were done, and rests, in the order of time. No two of them lie in the same time.
    ///
    /// In interval and emom blocks they are those of the clock, with the repetitions of rounds that somebody completed and
    /// otherwise the exercise that was on at half of the time; of one that was skipped then it is a rest, and so is what an
    /// emom block leaves of a minute after its set.
    /// Elsewhere a set ends when it is completed. It began as long before as it took; when nobody said so, when the rest
    /// after the set before it was over, or, when it was completed sooner than that, with that set's end. A countdown of
    /// which no set was completed is one set. What is completed while another block's clock makes sets was done before.
    package func performedSets(_ segments: [Segment], endedAt: Timestamp) -> [PerformedSet] {
        let clock = ActiveClock(segments)
        let spans = spans(clock)
        let pieces = pieces(spans, until: clock.active(at: endedAt))
        let clocked = pieces.indices.flatMap { performed(pieces[$0], pieces[($0 + 1)...], clock) }
        return (clocked + told(pieces, spans, clock)).sorted { ($0.start, $0.end) < ($1.start, $1.end) }
    }

    /// What a clock made a set or a rest; in an emom block what is left of a minute after its set is rest.
    private func performed(
        _ piece: ClockedPiece, _ later: ArraySlice<ClockedPiece>, _ clock: ActiveClock
    ) -> [PerformedSet] {
        let exercise = piece.kind == .active ? exercise(of: piece, clock) : nil
        guard let exercise else { return [performed(.rest, piece.from, piece.to, clock)].compactMap(\.self) }
        let item = item(of: piece)
        let done = completed(item.id, round: piece.round)
        // A round that somebody left and came back to is done with its last piece.
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

    /// Sets that no clock made, as somebody told of them, and the rests between them.
    private func told(_ pieces: [ClockedPiece], _ spans: [BlockSpan], _ clock: ActiveClock) -> [PerformedSet] {
        let clocked = Set(
            pieces.lazy.filter { $0.kind == .active }.map { SetReference(item: item(of: $0).id, round: $0.round) })
        let told = plan.blocks.flatMap(\.items).flatMap { item in
            (progress.completed[item.id] ?? []).lazy
                .filter { !clocked.contains(SetReference(item: item.id, round: $0.round)) }.map {
                    (item: item, set: $0)
                }
        }
        var sets: [PerformedSet] = []
        var before: (end: Int64, rest: Int64)?
        for (item, set) in told.sorted(by: { ($0.set.order, $0.item.id) < ($1.set.order, $1.item.id) }) {
            var end = clock.active(at: set.at)
            if let piece = pieces.first(where: { $0.from < end && end < $0.to }) { end = piece.from }
            // What ends a block belongs to it, though the next begins at the same moment.
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
