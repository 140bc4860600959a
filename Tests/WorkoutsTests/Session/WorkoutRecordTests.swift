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

    /// The samples' summary: heart rate, maximum speed, two laps and an optional distance.
    private func metrics(distance: Double? = nil) -> MetricsReport {
        var values: [Quantity: Double] = [.heartRate: 120, .speed: 4]
        values[.distance] = distance.map { $0 / 61 }
        let totals = summary(
            ["watch": (0...60).map { sample(Double($0), values) }], [segment(0, 60)], laps: [30])
        return MetricsReport(
            revision: 1, state: 1, next: [StreamName("samples/watch-1")!: 61], chunks: 1, totals: totals)
    }

    /// The locations' summary: 180 m, 100 of them in the first of two laps.
    private func route(laps: [Double] = [100, 80]) -> RouteReport {
        var totals = RouteSummary()
        totals.distance = 180
        totals.averageSpeed = 3
        totals.maximumSpeed = 3.5
        totals.ascent = 7
        totals.descent = 5
        totals.polyline = ["_p~iF~ps|U"]
        let walked = summary(
            ["phone": [sample(30, [.distance: 100]), sample(60, [.distance: 80])]], [segment(0, 60)],
            laps: laps.count == 2 ? [30] : [])
        totals.splits = walked.splits
        totals.laps = walked.laps
        return RouteReport(
            revision: 2, state: 1, next: [StreamName("locations/phone-1")!: 60], chunks: 1, totals: totals)
    }

    private func record(_ metrics: MetricsReport?, _ route: RouteReport?) -> WorkoutRecord {
        WorkoutRecord(session, metrics: metrics, route: route, isComplete: true, revision: 1)
    }

    @Test func `without a measured distance the route gives distance, speeds, splits and laps`() {
        let record = record(metrics(), route())
        #expect(record.distance == 180)
        #expect(record.averageSpeed == 3 && record.maximumSpeed == 3.5)
        #expect(record.splits.map(\.distance) == [180])
        #expect(record.laps.map(\.distance) == [100, 80])
        #expect(record.laps.map(\.averageHeartRate) == [120, 120])
        #expect(record.averageHeartRate == 120)
    }

    @Test func `a measured distance keeps its speeds, splits and laps`() throws {
        let own = metrics(distance: 122).totals
        let record = record(metrics(distance: 122), route())
        #expect(record.distance == 122)
        #expect(record.averageSpeed == own.averageSpeed && record.maximumSpeed == 4)
        #expect(record.splits == own.splits && record.laps == own.laps)
    }

    @Test(arguments: [nil, 122]) func `ascent, descent, bounds and polyline come from the route`(distance: Double?) {
        let record = record(metrics(distance: distance), route())
        #expect(record.ascent == 7 && record.descent == 5)
        #expect(record.polyline == ["_p~iF~ps|U"])
        #expect(self.record(metrics(distance: distance), nil).ascent == nil)
        #expect(self.record(metrics(distance: distance), nil).polyline == nil)
    }

    @Test func `a route without a distance removes nothing`() {
        var indoors = route()
        indoors.totals = RouteSummary()
        let record = record(metrics(), indoors)
        #expect(record.distance == nil && record.maximumSpeed == 4)
        #expect(record.laps == metrics().totals.laps)
        #expect(record.polyline == nil)
    }

    @Test func `without samples splits and laps come from the route alone`() {
        let record = record(nil, route())
        #expect(record.laps.map(\.distance) == [100, 80])
        #expect(record.mode == .phone)
    }

    @Test func `laps of a different number wait for the revised summary`() {
        #expect(record(metrics(), route(laps: [180])).laps.map(\.distance) == [nil, nil])
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
