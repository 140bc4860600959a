import TestSupport
import Testing

extension FakeBus {
    /// What is played comes to no end.
    struct Endless: Error {
        let ticks: Int
    }

    /// So much later, almost three hours by its clock, whatever is not to be cut off has come to its end.
    private static let tickLimit = 200_000

    /// Runs `body`, to its end or as if it were killed after so many ticks of its clock; says whether it came to the end.
    ///
    /// - Throws: ``Endless`` when it is not to be killed and does not end.
    ///
    /// The clock goes as fast as the bus's subscriber waits for it and has nothing else to do.
    func play(
        _ clock: ManualClock, ticks: Int = .max, onTick: @escaping @Sendable (Int) -> Void = { _ in },
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> Bool {
        let isEnd = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for tick in 0..<min(ticks, Self.tickLimit) {
                    try await clock.waitForSleepers()
                    try await self.waitForReader()
                    onTick(tick)
                    try await self.waitForReader()
                    clock.advance(by: .milliseconds(50))
                }
                if ticks > Self.tickLimit { throw Endless(ticks: Self.tickLimit) }
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
