import Hummingbird
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct RequestSharesTests {
    private let anna = RequestShares.Payer.account(User("anna")!)
    private let stranger = RequestShares.Payer.network(ClientNetwork("192.0.2.1"))

    @Test func `a burst passes, then requests wait their turn, and others have their own`() async throws {
        let clock = ManualClock()
        let shares = RequestShares(clock: clock)
        for _ in 0..<Int(RequestShares.burst) { try await shares.wait(for: anna) }
        // The next two wait 20 and 40 ms.
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for count in 1...2 {
                tasks.addTask { try await shares.wait(for: anna) }
                try await clock.waitForSleepers(count)
            }
            try await shares.wait(for: stranger)
            clock.advance(by: .milliseconds(21))
            #expect(clock.sleeperCount == 1)
            clock.advance(by: .milliseconds(21))
            try await tasks.waitForAll()
        }
        clock.advance(by: .seconds(1))
        for _ in 0..<48 { try await shares.wait(for: anna) }
        #expect(clock.sleeperCount == 0)
    }

    @Test func `who would wait too long gets 429, and delays nobody`() async throws {
        let clock = ManualClock()
        let shares = RequestShares(clock: clock)
        let waiting = Int(RequestShares.longestWait * RequestShares.perSecond)
        for _ in 0..<Int(RequestShares.burst) { try await shares.wait(for: stranger) }
        await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<waiting { tasks.addTask { try await shares.wait(for: stranger) } }
            _ = await eventually { clock.sleeperCount == waiting }
            for _ in 0..<10 {
                let error = await #expect(throws: HTTPError.self) { try await shares.wait(for: stranger) }
                #expect(error?.status == .tooManyRequests)
                #expect(error?.headers[.retryAfter] == "11")
            }
            tasks.cancelAll()
        }
    }
}
