import Testing
import Workouts

@testable import Bus

struct PartnersTests {
    private func partners(_ change: (inout Partners.Row) -> Void = { _ in }) -> Partners {
        var row = Partners.Row(.participant(User("ben")!), link: .connected)
        (row.distance, row.activeSeconds, row.gapMeters) = (1_020, 298, 29)
        change(&row)
        let run = RunID("00000000-0000-4000-8000-0000000000aa")!
        var partners = Partners(run: run, revision: 1, now: Timestamp(seconds: 1_767_225_600), rows: [row])
        (partners.distance, partners.activeSeconds) = (1_000, 300)
        return partners
    }

    private func meters(beside own: Double? = 1_006, _ change: (inout Partners.Row) -> Void = { _ in }) -> Double? {
        let partners = partners(change)
        return partners.metres(of: partners.rows[0], beside: own)
    }

    @Test func `a partner's metres are the reader's and the gap`() {
        #expect(meters() == 1_035)
        #expect(meters { $0.gapMeters = -40 } == 966)
        #expect(meters { ($0.link, $0.activeSeconds) = (.paused, 299) } == 1_035)
    }

    @Test func `a partner without current data, or at another time, has the last own metres`() {
        #expect(meters { $0.link = .stale } == 1_020)
        #expect(meters { $0.link = .disconnected } == 1_020)
        #expect(meters { $0.link = .finished } == 1_020)
        #expect(meters { ($0.link, $0.activeSeconds, $0.distance) = (.paused, 240, 900) } == 900)
        #expect(meters { $0.gapMeters = nil } == 1_020)
        #expect(meters(beside: nil) == 1_020)
    }

    @Test func `the nearest are those with current data`() {
        var partners = partners()
        var near = Partners.Row(.ghost(1), link: .stale)
        near.gapMeters = 2
        partners.rows.append(near)
        #expect(partners.nearest(1).map(\.runner) == [.participant(User("ben")!)])
    }
}
