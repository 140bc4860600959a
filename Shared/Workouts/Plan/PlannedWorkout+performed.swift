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
