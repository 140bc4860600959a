import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Client

/// The other runners as a device shows them.
@Suite struct RunCompanionTests {
    private let ann = User("ann")!
    private let run = RunID(UUID())
    private let now = Timestamp(seconds: 1_700_000_000)

    private func row(
        _ runner: Runner, _ meters: Double?, _ seconds: Double? = nil, _ link: RunLink = .connected, age: Double? = 1
    ) -> Partners.Row {
        var row = Partners.Row(runner, link: link)
        (row.gapMeters, row.gapSeconds, row.age) = (meters, seconds, age)
        return row
    }

    private func line(_ rows: [Partners.Row]) throws -> String? {
        var companion = RunCompanion(user: ann, run: run)
        let partners = Partners(run: run, revision: 1, now: now, rows: rows)
        _ = try companion.receive(Topic.user(ann, .partners(run)).message(partners.payload))
        return companion.line
    }

    @Test func `a line has each partner's gap in metres and seconds`() throws {
        let ben = Runner.participant(User("ben")!)
        #expect(try line([row(ben, 29.4, 9.2)]) == "ben 29 m ahead, 9 s")
        #expect(try line([row(ben, -1_204, -372)]) == "ben 1.20 km behind, 372 s")
        #expect(try line([row(.ghost(2), 0.2, 0.1)]) == "ghost 2 level")
        #expect(try line([row(ben, nil)]) == "ben")
        #expect(try line([row(ben, 29, 9, .disconnected, age: 75)]) == "ben 29 m ahead, 9 s, no data for 1:15")
        #expect(try line([row(ben, -12, -4, .paused)]) == "ben 12 m behind, 4 s, paused")
        #expect(try line([row(ben, -12, -4, .finished)]) == "ben finished")
        #expect(try line([]) == nil)
    }

    @Test func `of many partners it has the nearest three in group order`() throws {
        let rows = [900.0, 40, 5, -10, -700].enumerated().map { number, gap in
            row(.participant(User("r\(number)")!), gap, gap / 3)
        }
        #expect(try line(rows) == "r1 40 m ahead, 13 s · r2 5 m ahead, 2 s · r3 10 m behind, 3 s · 2 more")
    }

    @Test func `an older message changes nothing, and an empty one clears the partners`() throws {
        var companion = RunCompanion(user: ann, run: run)
        let topic = Topic.user(ann, .partners(run))
        func receive(_ revision: Int64, _ gap: Double) throws {
            let rows = [row(.participant(User("ben")!), gap, 1)]
            _ = try companion.receive(
                topic.message(Partners(run: run, revision: revision, now: now, rows: rows).payload))
        }
        try receive(5, 10)
        try receive(4, 20)
        #expect(companion.line == "ben 10 m ahead, 1 s")
        companion.clear(topic.message([]))
        #expect(companion.line == nil)
        // Those of another run are not its own.
        let other = Topic.user(ann, .partners(RunID(UUID())))
        _ = try companion.receive(
            other.message(Partners(run: run, revision: 9, now: now, rows: [row(.ghost(1), 1, 1)]).payload))
        #expect(companion.line == nil)
    }

    @Test func `a cue is spoken in words`() throws {
        var companion = RunCompanion(user: ann, run: run)
        var cue = Announcement(.finished, at: now)
        (cue.user, cue.distance, cue.pace) = (User("ben")!, 5_000, 330)
        let topic = Topic.user(ann, .virtualRunAnnouncements(run))
        #expect(try companion.receive(topic.message(JSONCoding.encode(cue))) == "ben finished: 5.00 km, 5:30 /km")
        #expect(try companion.receive(topic.message(Array("{\"kind\":\"dance\"}".utf8))) == nil)
    }
}
