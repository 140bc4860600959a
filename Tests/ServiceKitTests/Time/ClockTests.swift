import Foundation
import ServiceKit
import Synchronization
import TestSupport
import Testing
import Workouts

@Suite struct ClockTests {
    @Test func `the system's wall clock shows Unix time`() {
        let difference = SystemClock().now.seconds - Date().timeIntervalSince1970
        #expect(abs(difference) < 1)
    }

    @Test func `the system's clocks continue while a task waits`() async throws {
        let clock: any WallClock = SystemClock()
        let start = clock.moment
        try await clock.wait(for: .milliseconds(20))
        #expect(clock.moment >= start + 0.02)
        #expect(!clock.moment.hasStepped(since: start))
    }

    @Test func `waiting tasks wake when the uptime reaches them and not before`() async throws {
        let clock = ManualClock()
        let start = clock.now
        let woken = Mutex<[Int]>([])
        let note: @Sendable (Int) -> Void = { seconds in woken.withLock { $0.append(seconds) } }
        try await withThrowingTaskGroup { group in
            for seconds in [3, 1, 2] {
                group.addTask {
                    try await clock.wait(for: .seconds(seconds))
                    note(seconds)
                }
            }
            try await clock.waitForSleepers(3)
            clock.advance(by: .milliseconds(999))
            clock.step(by: .seconds(86_400))
            #expect(clock.sleeperCount == 3)
            clock.step(by: .seconds(-86_400))
            for seconds in 1...3 {
                clock.advance(by: .seconds(1))
                _ = try await group.next()
                #expect(woken.withLock { $0 } == Array(1...seconds))
            }
        }
        #expect(clock.now == start + 3.999)
    }

    @Test func `a canceled wait ends with an error`() async throws {
        let clock = ManualClock()
        let waiting = Task { try await clock.wait(for: .seconds(1)) }
        try await clock.waitForSleepers()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func `waiting for no time returns at once`() async throws {
        try await ManualClock().wait(for: .zero)
    }

    @Test func `waiting for a task that never waits ends with an error`() async {
        let clock = ManualClock()
        await #expect(throws: ManualClock.NoSleeper.self) {
            try await clock.waitForSleepers(bound: .milliseconds(10))
        }
    }
}

@Suite struct MomentTests {
    private let now = Moment(Timestamp(seconds: 1_735_689_600))

    @Test(arguments: [-86_400.0, -3_600, 3_600, 86_400])
    func `a wall clock that steps moves no deadline`(step: Double) {
        let clock = ManualClock()
        let deadline = clock.moment + 60
        clock.step(by: .seconds(step))
        #expect(deadline.seconds(since: clock.moment) == 60)
        clock.advance(by: .seconds(59))
        #expect(clock.moment < deadline)
        clock.advance(by: .seconds(1))
        #expect(clock.moment == deadline)
    }

    @Test func `sums move both clocks`() {
        #expect((now + 5).wallClock == now.wallClock + 5)
        #expect((now + 5).uptime == now.uptime + .seconds(5))
        #expect((now - 5).seconds(since: now) == -5)
        #expect(now.advanced(by: .milliseconds(1)) == now + 0.001)
        #expect(now.duration(to: now + 2) == .seconds(2))
    }

    @Test func `a time of the wall clock is as far away as the wall clock shows`() {
        let event = now.wallClock + 90
        #expect(now.when(event) == now + 90)
        let stepped = Moment(wallClock: now.wallClock - 3_600, uptime: now.uptime)
        #expect(stepped.when(event) == now + 3_690)
    }

    @Test(arguments: [(0.0, false), (0.9, false), (-0.9, false), (1.1, true), (-1.1, true), (-1e9, true)])
    func `a step is a difference between the moves of wall clock and uptime`(step: Double, isStep: Bool) {
        let later = now + 10
        let stepped = Moment(wallClock: later.wallClock + step, uptime: later.uptime)
        #expect(stepped.hasStepped(since: now) == isStep)
    }
}
