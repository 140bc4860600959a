import Foundation
import ServiceKit
import Synchronization
import TestSupport
import Testing
import Workouts

@Suite struct ClockTests {
    @Test func `the system's clock shows Unix time`() {
        let difference = SystemClock().now.seconds - Date().timeIntervalSince1970
        #expect(abs(difference) < 1)
    }

    @Test func `the system's clock sleeps until the deadline`() async throws {
        let clock: any WallClock = SystemClock()
        let deadline = clock.now + 0.02
        try await clock.sleep(until: deadline, tolerance: nil)
        #expect(clock.now >= deadline)
        try await clock.sleep(until: deadline - 60, tolerance: nil)
    }

    @Test func `sleepers wake exactly at their deadline`() async throws {
        let clock = ManualClock()
        let start = clock.now
        let woken = Mutex<[Int]>([])
        let note: @Sendable (Int) -> Void = { seconds in woken.withLock { $0.append(seconds) } }
        try await withThrowingTaskGroup { group in
            for seconds in [3, 1, 2] {
                group.addTask {
                    try await clock.sleep(until: start + Double(seconds), tolerance: nil)
                    note(seconds)
                }
            }
            try await clock.waitForSleepers(3)
            clock.advance(by: .milliseconds(999))
            #expect(clock.sleeperCount == 3)
            for seconds in 1...3 {
                clock.advance(by: .seconds(1))
                _ = try await group.next()
                #expect(woken.withLock { $0 } == Array(1...seconds))
            }
        }
        #expect(clock.now == start + 3.999)
    }

    @Test func `a canceled sleeper wakes with an error`() async throws {
        let clock = ManualClock()
        let sleeper = Task { try await clock.sleep(until: clock.now + 1, tolerance: nil) }
        try await clock.waitForSleepers()
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func `sleeping until the past returns immediately`() async throws {
        let clock = ManualClock()
        try await clock.sleep(until: clock.now, tolerance: nil)
    }

    @Test func `waiting for a missing sleeper ends with an error`() async {
        let clock = ManualClock()
        await #expect(throws: ManualClock.NoSleeper.self) {
            try await clock.waitForSleepers(bound: .milliseconds(10))
        }
    }
}
