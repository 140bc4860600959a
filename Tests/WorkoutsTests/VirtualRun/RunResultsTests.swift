import Foundation
import TestSupport
import Testing

@testable import Workouts

@Suite struct RunResultsTests {
    private let distanceRun = settings(.distance(1_000))

    static func settings(_ goal: RunGoal?) -> RunSettings {
        var settings = RunSettings()
        settings.goal = goal
        return settings
    }

    private func curve(_ speed: Double, _ seconds: Double) -> RunCurve {
        var curve = RunCurve()
        for second in stride(from: 0, through: seconds, by: 5) { curve.addPoint(second, second * speed) }
        return curve
    }

    private func finished(_ name: String, _ speed: Double, _ seconds: Double) -> RunResults.Entry {
        .runner(name, .finished, curve(speed, seconds))
    }

    @Test func `a goal distance ranks by its time, then by the distance of those who stopped before`() throws {
        let results = RunResults(
            distanceRun,
            [finished("ann", 2.5, 500), finished("ben", 4, 250), finished("cat", 2, 300), finished("dan", 2, 400)])
        #expect(results.rows.map(\.user?.description) == ["ben", "ann", "dan", "cat"])
        #expect(results.rows.map(\.place) == [1, 2, 3, 4])
        #expect(results.rows.map(\.status) == [.finished, .finished, .dnf, .dnf])
        #expect(results.rows.map(\.time) == [250, 400, 400, 300])
        #expect(results.rows.map(\.distance) == [1_000, 1_000, 800, 600])
        #expect(results.rows[1].behind == RunResult.Behind(seconds: 150, meters: 375))
        #expect(results.rows[2].behind == RunResult.Behind(meters: 200))
        #expect(results.rows[0].behind == nil)
        #expect(results.rows[1].pace == 400)
        #expect(!results.isProvisional)
    }

    @Test func `a goal duration ranks by the distance until then, and who stopped before did not finish`() {
        let results = RunResults(
            Self.settings(.duration(300)), [finished("ann", 3, 1_000), finished("ben", 4, 295), finished("cat", 5, 60)])
        #expect(results.rows.map(\.user?.description) == ["ann", "ben", "cat"])
        #expect(results.rows.map(\.status) == [.finished, .dnf, .dnf])
        #expect(results.rows.map(\.place) == [1, 2, 3])
        #expect(results.rows.map(\.distance) == [900, 1_180, 300])
        #expect(results.rows.map(\.time) == [300, 295, 60])
        let both = RunResults(Self.settings(.duration(300)), [finished("ann", 3, 300), finished("ben", 4, 300)])
        #expect(both.rows.map(\.user?.description) == ["ben", "ann"])
        #expect(both.rows[1].behind == RunResult.Behind(seconds: 75, meters: 300))
    }

    @Test func `without a measured distance the time decides who finished a goal duration`() {
        var entry = RunResults.Entry.runner("ann", .finished, nil)
        entry.workout?.distance = nil
        for (active, elapsed, clock, status) in [
            (60.0, 90.0, RunClock.active, RunResult.Status.finished), (59.9, 90, .active, .dnf),
            (59.9, 90, .gun, .finished),
        ] {
            entry.workout?.activeDuration = active
            entry.workout?.elapsedDuration = elapsed
            var settings = Self.settings(.duration(60))
            settings.clock = clock
            #expect(RunResults(settings, [entry]).rows.map(\.status) == [status])
        }
    }

    @Test func `a result says that a device's clock was off`() {
        var entry = finished("ann", 3, 500)
        entry.clockSkew = -90
        #expect(RunResults(distanceRun, [entry, finished("ben", 3, 400)]).rows.map(\.clockSkew) == [-90, nil])
    }

    @Test func `without a goal the distance ranks, then less time`() {
        let results = RunResults(
            Self.settings(nil), [finished("ann", 2, 600), finished("ben", 4, 300), finished("cat", 1, 600)])
        #expect(results.rows.map(\.user?.description) == ["ben", "ann", "cat"])
        #expect(results.rows.map(\.place) == [1, 2, 3])
    }

    @Test func `equals in thousandths share a place, and the next place is left out`() {
        let results = RunResults(
            distanceRun,
            [finished("cat", 2, 900), finished("ben", 2.5, 600), finished("ann", 2.5, 500)])
        #expect(results.rows.map(\.user?.description) == ["ann", "ben", "cat"])
        #expect(results.rows.map(\.place) == [1, 1, 3])
        #expect(results.rows[1].behind == nil)
    }

    @Test func `who left, is absent or withdrew has a row without figures, and places close up`() {
        var withdrawn = finished("ben", 9, 500)
        withdrawn.kind = .participant(.left, isWithdrawn: true)
        let results = RunResults(
            distanceRun,
            [
                withdrawn, .runner("cat", .left, curve(8, 500)), .runner("dan", .absent, nil),
                finished("ann", 3, 500), .runner("eva", .declined, nil), .runner("fay", .invited, nil),
            ])
        #expect(results.rows.map(\.user?.description) == ["ann", "dan", "cat", "ben"])
        #expect(results.rows.map(\.status) == [.finished, .absent, .left, .withdrawn])
        #expect(results.rows.map(\.place) == [1, nil, nil, nil])
        #expect(results.rows.dropFirst().allSatisfy { $0.distance == nil && $0.time == nil })
        #expect(!results.isProvisional)
    }

    @Test func `results are provisional while somebody runs and while a workout, its rows or items are missing`() {
        #expect(RunResults(distanceRun, [.runner("ann", .running, nil), finished("ben", 3, 400)]).isProvisional)
        #expect(
            RunResults(distanceRun, [RunResults.Entry(user: User("ann"), .participant(.finished, isWithdrawn: false))])
                .isProvisional)
        #expect(RunResults(distanceRun, [.runner("ann", .finished, nil)]).isProvisional)
        var incomplete = finished("ann", 3, 400)
        incomplete.workout?.incomplete = true
        #expect(RunResults(distanceRun, [incomplete]).isProvisional)
        // Nothing measured a distance: no rows are missing.
        var unmeasured = RunResults.Entry.runner("ann", .finished, nil)
        unmeasured.workout?.distance = nil
        let results = RunResults(distanceRun, [unmeasured])
        #expect(!results.isProvisional)
        #expect(results.rows.map(\.status) == [.dnf])
    }

    @Test func `ghosts are ranked with the others`() {
        let results = RunResults(
            distanceRun,
            [
                finished("ann", 3, 500), .init(user: nil, .ghost(1), curve: RunCurve(pace: 300)),
                .init(user: User("ben"), .ghost(2), curve: curve(2, 300)),
            ])
        #expect(results.rows.map(\.ghost) == [1, nil, 2])
        #expect(results.rows.map(\.place) == [1, 2, 3])
        #expect(results.rows[0].time == 300)
        #expect(results.rows[2].status == .dnf)
    }

    @Test func `a pacing partner of a run without a goal has no place`() {
        let results = RunResults(
            Self.settings(nil), [finished("ann", 3, 500), .init(user: nil, .ghost(1), curve: RunCurve(pace: 300))])
        #expect(results.rows.map(\.place) == [1, nil])
    }

    @Test func `without leave neither heart rate nor route shows`() {
        var entry = finished("ann", 3, 500)
        #expect(RunResults(distanceRun, [entry]).rows[0].averageHeartRate == 150)
        #expect(RunResults(distanceRun, [entry]).rows[0].hasRoute == nil)
        entry.sharing = Sharing(position: false, heartRate: false, route: true, ghost: false)
        #expect(RunResults(distanceRun, [entry]).rows[0].averageHeartRate == nil)
        #expect(RunResults(distanceRun, [entry]).rows[0].hasRoute == true)
    }

    @Test func `pauses from the run's start on are counted`() {
        var entry = finished("ann", 3, 500)
        entry.workout?.segments = [segment(0, 10), segment(20, 100), segment(130, 200), segment(200, 300)]
        entry.startsAt = year2026 + 15
        #expect(RunResults(distanceRun, [entry]).rows[0].pauses == RunResult.Pauses(count: 2, seconds: 35))
    }

    @Test func `no pace below 50 m or above 1,800 s/km`() {
        #expect(runPace(seconds: 20, meters: 49.9) == nil)
        #expect(runPace(seconds: 20, meters: 50) == 400)
        #expect(runPace(seconds: 1_800, meters: 1_000) == 1_800)
        #expect(runPace(seconds: 1_801, meters: 1_000) == nil)
        let row = RunResults(Self.settings(nil), [finished("ann", 1, 45)]).rows[0]
        #expect(row.pace == nil)
    }

    @Test func `results are equal under any order, repetition and restart`() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            let goal: RunGoal? = [.distance(2_000), .duration(1_200), nil].randomElement(using: &random)!
            let settings = Self.settings(goal)
            let entries = (0..<Int.random(in: 2...20, using: &random)).map { random.entry($0) }
            let first = RunResults(settings, entries)
            let bytes = try json(first.rows)
            for _ in 0..<3 {
                let stored = try entries.shuffled(using: &random).map { entry in
                    var entry = entry
                    entry.curve = try entry.curve.map {
                        try JSONDecoder().decode(RunCurve.self, from: JSONEncoder().encode($0))
                    }
                    entry.workout = try entry.workout.map {
                        try JSONDecoder().decode(RunWorkout.self, from: JSONEncoder().encode($0))
                    }
                    return entry
                }
                let again = RunResults(settings, stored)
                #expect(try json(again.rows) == bytes)
                #expect(again.isProvisional == first.isProvisional)
            }
            let places = first.rows.compactMap(\.place)
            #expect(places == places.sorted())
            #expect(places.isEmpty || places[0] == 1)
            #expect(Set(first.rows.map { "\($0.user?.description ?? "") \($0.ghost ?? 0)" }).count == first.rows.count)
        }
    }
}

extension RunResults.Entry {
    fileprivate static func runner(_ name: String, _ status: ParticipantStatus, _ curve: RunCurve?) -> Self {
        let session = SessionID(UUID(uuidString: "00000000-0000-4000-8000-000000000001")!)
        var entry = RunResults.Entry(
            user: User(name), .participant(status, isWithdrawn: false), startsAt: year2026, curve: curve)
        entry.workout = RunWorkout(
            session: session, distance: curve?.distance ?? 1, segments: [segment(0, curve?.duration ?? 1)])
        return entry
    }
}

extension RunWorkout {
    fileprivate init(session: SessionID, distance: Double, segments: [Segment]) {
        let started = Session(
            key: SessionKey(User("ann")!, session), start: SessionStart(activity: .running), at: year2026,
            now: year2026)
        var record = WorkoutRecord(started, metrics: nil, isComplete: true, revision: 1)
        record.distance = distance
        record.segments = segments
        record.averageHeartRate = 150
        record.polyline = ["_p~iF~ps|U"]
        self.init(record)
    }
}

extension SeededRandom {
    fileprivate mutating func entry(_ number: Int) -> RunResults.Entry {
        if Int.random(in: 0..<8, using: &self) == 0 {
            return RunResults.Entry(
                user: Bool.random(using: &self) ? User("owner\(number)") : nil, .ghost(number),
                curve: Bool.random(using: &self) ? curve() : RunCurve(pace: 300))
        }
        let status = ParticipantStatus.allCases.randomElement(using: &self)!
        var entry = RunResults.Entry.runner(
            "user\(number)", status, Int.random(in: 0..<5, using: &self) == 0 ? nil : curve())
        if Int.random(in: 0..<6, using: &self) == 0 { entry.workout = nil }
        if Int.random(in: 0..<6, using: &self) == 0 { entry.kind = .participant(status, isWithdrawn: true) }
        return entry
    }
}
