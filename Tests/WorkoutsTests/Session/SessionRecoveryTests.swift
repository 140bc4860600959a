import Testing
import Workouts

@Suite struct SessionRecoveryTests {
    private func begin(_ countdown: Double = 0) -> Session {
        let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)
        let start = SessionStart(activity: .running, countdown: countdown)
        return Session(key: key, start: start, at: year2026, now: year2026)
    }

    @Test func `an expired session keeps its segment open and is restored to its former status`() {
        let before = begin()
        var session = before
        session.expire()
        #expect(session.statusName == .canceled)
        #expect(session.state(revision: 1).endReason == "expired")
        #expect(session.segments == [segment(0, nil)])
        session.restore(hasOther: false, newest: year2026 + 50)
        #expect(session == before)
    }

    @Test(arguments: [(50, 50), (-5, 0), (nil, 0)] as [(Double?, Double)])
    func `a session restored beside another one is saved and ends with its last item`(newest: Double?, end: Double) {
        var session = begin()
        session.expire()
        session.restore(hasOther: true, newest: newest.map { year2026 + $0 })
        #expect(session.statusName == .saving)
        #expect(session.segments == [segment(0, end)])
        #expect(session.endedAt == year2026 + end)
    }

    @Test func `an event does not restore a discarded session`() throws {
        var session = begin()
        try session.apply(.discard, at: year2026 + 10)
        let discarded = session
        session.restore(hasOther: false, newest: year2026 + 50)
        #expect(session == discarded)
    }

    @Test func `a recovered session without items ends at the discard`() throws {
        var session = begin()
        try session.apply(.discard, at: year2026 + 10)
        try session.apply(.recover, at: year2026 + 99)
        #expect(session.segments == [segment(0, 10)])
        #expect(session.endedAt == year2026 + 10)
    }

    @Test func `a recovered session is saved and its clock stops at the last item`() throws {
        var session = begin()
        session.receiveFirstItem()
        try session.apply(.discard, at: year2026 + 10)
        try session.apply(.recover, at: year2026 + 99, newest: year2026 + 8)
        #expect(session.statusName == .saving)
        #expect(session.segments == [segment(0, 8)])
        #expect(session.endedAt == year2026 + 8)
    }

    @Test(arguments: [SessionAction.pause, .suspend])
    func `a session recovered from a pause ends when the clock stopped`(action: SessionAction) throws {
        var session = begin()
        try session.apply(action, at: year2026 + 10)
        session.expire()
        try session.apply(.recover, at: year2026 + 99, newest: year2026 + 50)
        #expect(session.segments == [segment(0, 10)])
        #expect(session.endedAt == year2026 + 10)
    }

    @Test func `a deleted session keeps no recorded data`() throws {
        var session = begin()
        try session.apply(.lap, at: year2026 + 5)
        try session.apply(.end(streams: [StreamName("samples/watch-1")!: 5]), at: year2026 + 10)
        session.delete()
        let state = session.state(revision: 1)
        #expect(state.status == .deleted)
        #expect(state.segments.isEmpty && state.laps.isEmpty && state.streams.isEmpty)
        #expect(state.startedAt == nil && state.endedAt == nil && state.endReason == nil)
    }

    @Test func `an ended session does not expire`() throws {
        var session = begin()
        try session.apply(.end(streams: [:]), at: year2026 + 10)
        let saving = session
        session.expire()
        #expect(session == saving)
    }
}
