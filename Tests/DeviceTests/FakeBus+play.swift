import TestSupport
import Testing

extension FakeBus {
    /// Runs `body`, to its end or as if it were killed after so many ticks of its clock; says whether it came to the end.
    ///
    /// The clock goes as fast as the bus's subscriber waits for it and has nothing else to do.
    func play(
        _ clock: ManualClock, ticks: Int = .max, onTick: @escaping @Sendable (Int) -> Void = { _ in },
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> Bool {
        let isEnd = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for tick in 0..<ticks {
                    try await clock.waitForSleepers()
                    try await self.waitForReader()
                    onTick(tick)
                    try await self.waitForReader()
                    clock.advance(by: .milliseconds(50))
                }
                return false
            }
            group.addTask {
                try await body()
                return true
            }
            let isEnd = try await group.next() ?? false
            group.cancelAll()
            while await group.nextResult() != nil {}
            return isEnd
        }
        // The timer of what was cut off must not be taken for that of what comes next.
        try #require(await eventually { clock.sleeperCount == 0 })
        return isEnd
    }
}
