import Bus
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// A disk that refuses writes, and a clock that steps meanwhile.
struct RefusedDiskTests {
    /// Sends a set while the disk refuses writes. The disk accepts writes afterwards.
    private static func refuse(_ planned: inout PlannedEngine) async throws -> Command {
        try await planned.begin(.strength)
        planned.refuseDisk(true)
        let set = planned.command(.plan(.completeSet(SetCompletion())))
        #expect(try await planned.send(set) == [])
        planned.refuseDisk(false)
        return set
    }

    @Test func `a clock that steps backwards does not extend the write backoff`() async throws {
        var planned = try await PlannedEngine()
        let set = try await Self.refuse(&planned)
        planned.clock.step(by: .seconds(-3_600))
        #expect(try await planned.send(set) == [])
        planned.clock.advance(by: .seconds(1))
        #expect(try await planned.send(set).map(\.ok) == [true])
        try await planned.restart()
        #expect(planned.plan?.progress.progress.completed["bench"]?.count == 1)
    }

    @Test func `a failed write is retried after a second`() async throws {
        var planned = try await PlannedEngine()
        let set = try await Self.refuse(&planned)
        try await planned.advance(to: 0.9)
        #expect(try await planned.send(set) == [])
        try await planned.advance(to: 1.1)
        #expect(try await planned.send(set).map(\.ok) == [true])
    }
}
