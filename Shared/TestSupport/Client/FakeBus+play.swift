extension FakeBus {
    /// The body did not end.
    package struct Endless: Error {
        let ticks: Int
    }

    /// A timer of a canceled body still waits.
    package struct BusyClock: Error {}

    /// Almost three hours of the clock: every body ends before.
    private static let tickLimit = 200_000

    /// Runs `body` to its end, or as if it were killed after `ticks` ticks of its clock. Returns whether it ended.
    ///
    /// The clock advances whenever the bus's subscriber waits for it and has nothing else to do.
    /// - Throws: ``Endless`` when the body is not killed and does not end.
    package func play(
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
        // The timer of a canceled body must not wake the next one.
        guard await eventually({ clock.sleeperCount == 0 }) else { throw BusyClock() }
        return isEnd
    }
}
