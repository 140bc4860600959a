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
