import Testing
import Workouts

/// The source of each value of the finished record.
@Suite struct WorkoutRecordTests {
    private let session: Session

    init() throws {
        let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)
        var session = Session(
            key: key, start: SessionStart(activity: .running, countdown: 0), at: year2026, now: year2026)
        try session.apply(.lap, at: year2026 + 30)
        try session.apply(.end(streams: [:]), at: year2026 + 60)
        self.session = session
    }

    /// The samples' summary, with the totals that the route gives it.
    private func metrics() -> MetricsReport {
        var totals = summary(
            ["watch": (0...60).map { sample(Double($0), [.heartRate: 120, .distance: 3]) }], [segment(0, 60)],
            laps: [30])
        totals.ascent = 9
        totals.descent = 8
        return MetricsReport(
            revision: 1, state: 1, next: [StreamName("samples/watch-1")!: 61], chunks: 1, totals: totals)
    }

    /// The locations' summary, with totals that differ.
    private func route() -> RouteReport {
        var totals = RouteSummary()
        totals.distance = 180
        totals.averageSpeed = 3
        totals.maximumSpeed = 3.5
        totals.ascent = 7
        totals.descent = 5
        totals.polyline = ["_p~iF~ps|U"]
        return RouteReport(
            revision: 2, state: 1, next: [StreamName("locations/phone-1")!: 60], chunks: 1, totals: totals)
    }

    private func record(_ metrics: MetricsReport?, _ route: RouteReport?) -> WorkoutRecord {
        WorkoutRecord(session, metrics: metrics, route: route, isComplete: true, revision: 1)
    }

    @Test func `all totals come from the samples' summary`() {
        let totals = metrics().totals
        for record in [record(metrics(), route()), record(metrics(), nil)] {
            #expect(record.distance == 183 && record.averageHeartRate == 120)
            #expect(record.averageSpeed == totals.averageSpeed && record.maximumSpeed == totals.maximumSpeed)
            #expect(record.splits == totals.splits && record.laps == totals.laps)
            #expect(record.movingDuration == 60)
            #expect(record.ascent == 9 && record.descent == 8)
        }
    }

    @Test func `bounds and polyline come from the route, and totals only while the samples' summary lacks it`() {
        #expect(record(metrics(), route()).polyline == ["_p~iF~ps|U"])
        #expect(record(metrics(), nil).polyline == nil)
        let alone = record(nil, route())
        #expect(alone.distance == 180 && alone.ascent == 7 && alone.splits.isEmpty && alone.laps.isEmpty)
    }

    @Test func `a barometer's ascent stays when an empty route arrives`() {
        var climbed = metrics()
        (climbed.totals.distance, climbed.route) = (nil, nil)
        var empty = route()
        empty.totals = RouteSummary()
        let record = record(climbed, empty)
        #expect(record.distance == nil && record.ascent == 9)
    }

    @Test func `counts and revisions cover both summaries`() {
        let record = record(metrics(), route())
        #expect(record.next == [StreamName("samples/watch-1")!: 61, StreamName("locations/phone-1")!: 60])
        #expect(record.summaries == ["metrics": 1, "route": 2])
    }

    @Test func `the record has the session's mode when it ended, whatever device sent items`() throws {
        for mode in Mode.allCases {
            let start = SessionStart(activity: .running, mode: mode, countdown: 0)
            var session = Session(key: session.key, start: start, at: year2026, now: year2026)
            if mode == .watch { _ = session.advance(to: year2026 + 10) }
            if mode == .phone { try session.apply(.deviceReady(Device("watch-1")!), at: year2026 + 20) }
            try session.apply(.end(streams: [:]), at: year2026 + 60)
            let record = WorkoutRecord(session, metrics: metrics(), isComplete: true, revision: 1)
            #expect(record.mode == (mode == .watch ? .phone : .watch))
        }
    }

    @Test func `the record keeps the virtual run and the replaced session of the start`() throws {
        var start = SessionStart(activity: .running, countdown: 0)
        start.run = RunID("6f9619ff-8b86-d011-b42d-00c04fc96400")
        start.notSynced = SessionID("6f9619ff-8b86-d011-b42d-00c04fc96401")
        var session = Session(key: session.key, start: start, at: year2026, now: year2026)
        #expect(session.state(revision: 1).run == start.run)
        try session.apply(.end(streams: [:]), at: year2026 + 60)
        let record = WorkoutRecord(session, metrics: nil, isComplete: true, revision: 1)
        #expect(record.run == start.run && record.notSynced == start.notSynced)
        session.delete()
        #expect(session.state(revision: 2).run == nil && session.notSynced == nil)
    }
}
