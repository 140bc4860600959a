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
