import Storage
import TestSupport
import Testing
import Workouts

@testable import ServiceKit

@Suite struct LivenessTests {
    private let clock = ManualClock()
    private let liveness: Liveness

    init() {
        liveness = Liveness(clock: clock)
    }

    @Test func `a loop without a mark for 15 s hangs, until it marks its next step`() {
        liveness.mark("loop")
        liveness.mark("other")
        clock.advance(by: .milliseconds(14_999))
        #expect(liveness.hung == [])
        liveness.mark("other")
        clock.advance(by: .milliseconds(1))
        #expect(liveness.hung == ["loop"])
        liveness.mark("loop")
        #expect(liveness.hung == [])
    }

    @Test func `a wall clock that steps by an hour makes nothing hang`() {
        liveness.mark("loop")
        clock.step(by: .seconds(3_600))
        #expect(liveness.hung == [])
    }

    @Test func `a loop that has ended, or never began, does not hang`() async {
        await liveness.waiting {}
        liveness.mark("loop")
        liveness.end("loop")
        clock.advance(by: .seconds(3_600))
        #expect(liveness.hung == [])
    }

    @Test func `a wait for another process may take 120 s, and its end is a step`() async {
        liveness.mark("loop")
        clock.advance(by: .seconds(14))
        await liveness.waiting {
            clock.advance(by: .seconds(119))
            #expect(liveness.hung == [])
            // A wait of a job beside the loop.
            await liveness.waiting {}
            clock.advance(by: .seconds(119))
            #expect(liveness.hung == [])
            clock.advance(by: .seconds(1))
            #expect(liveness.hung == ["loop"])
        }
        clock.advance(by: .seconds(14))
        #expect(liveness.hung == [])
        clock.advance(by: .seconds(1))
        #expect(liveness.hung == ["loop"])
    }

    /// A database that answers nothing for as long as a test wants.
    @Test func `a loop that waits for its database does not hang`() async throws {
        let store = RefusingStore(MemoryStore.owningAll())
        let watched = WatchedStore(store: store, liveness: liveness)
        liveness.mark("loop")
        store.delayNextCommit { [clock, liveness] in
            clock.advance(by: .seconds(100))
            #expect(liveness.hung == [])
        }
        _ = try await watched.commit([])
        #expect(liveness.hung == [])
    }
}
