import Testing
import Workouts

@Suite struct SessionOverlapTests {
    /// A session between two seconds after the start of 2026; unfinished without an end.
    private func session(_ start: Double, _ end: Double? = nil, countdown: Double = 0, now: Double = 1e6) -> Session {
        var begin = SessionStart(activity: .running, countdown: countdown)
        begin.endAt = end.map { year2026 + $0 }
        let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)
        return Session(key: key, start: begin, at: year2026 + start, now: year2026 + now)
    }

    private func overlaps(_ session: Session, _ start: Double, _ end: Double?) -> Bool {
        session.overlaps(from: year2026 + start, to: end.map { year2026 + $0 })
    }

    @Test(arguments: [(0, nil), (99, nil), (0, 101), (101, 102), (1e9, nil), (1e9, 2e9)] as [(Double, Double?)])
    func `an unfinished session overlaps all later times`(start: Double, end: Double?) {
        #expect(overlaps(session(100), start, end))
    }

    @Test(arguments: [(0, 100), (0, 99), (-1e9, 0)] as [(Double, Double)])
    func `a span before its start does not overlap`(start: Double, end: Double) {
        #expect(!overlaps(session(100), start, end))
    }

    @Test(
        arguments: [
            (0, nil, true), (0, 100, false), (0, 101, true), (120, 130, true), (199, nil, true), (200, nil, false),
            (200, 300, false), (50, 250, true), (250, nil, false),
        ] as [(Double, Double?, Bool)])
    func `a session with a known end overlaps only until that end`(start: Double, end: Double?, expected: Bool) {
        #expect(overlaps(session(100, 200), start, end) == expected)
    }

    @Test func `the countdown does not belong to the session's time`() throws {
        let preparing = session(100, countdown: 10, now: 100)
        #expect(preparing.statusName == .preparing)
        #expect(!overlaps(preparing, 0, 110))
        #expect(overlaps(preparing, 0, 111))
    }

    @Test func `pauses have no effect and the first segment's start counts`() throws {
        var session = session(100)
        try session.apply(.pause, at: year2026 + 150)
        #expect(overlaps(session, 0, 101))
        #expect(overlaps(session, 200, nil))
        #expect(!overlaps(session, 0, 100))
    }
}
