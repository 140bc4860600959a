/// A stretch of active time that belongs to one block.
struct BlockSpan: Equatable {
    let block: Int
    /// Microseconds of active time; `to` is `nil` of the one that goes on.
    let from: Int64
    let to: Int64?
    /// What the block's clock showed as it began.
    let clock: Int64
}

extension PlannedWorkout {
    /// Which block each active time belongs to.
    ///
    /// A block whose time is over leads to the next; its clock stands while another block is on.
    func spans(_ clock: ActiveClock) -> [BlockSpan] {
        var spans: [BlockSpan] = []
        var shown = [Int64](repeating: 0, count: plan.blocks.count)
        var from: Int64 = 0
        for (index, visit) in progress.visits.enumerated() {
            // The first begins with the session, each with the end of the one before.
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

    /// What a block's clock shows at an active time.
    func elapsed(_ block: Int, _ active: Int64, _ spans: [BlockSpan]) -> Int64 {
        guard let span = spans.last(where: { $0.block == block && $0.from <= active }) else { return 0 }
        return span.clock + min(active, span.to ?? .max) - span.from
    }

    /// Whether a block's time is over.
    func isTimeOver(_ block: Int, _ active: Int64, _ spans: [BlockSpan]) -> Bool {
        plan.blocks[block].timer.total.map { elapsed(block, active, spans) >= $0 } ?? false
    }
}
