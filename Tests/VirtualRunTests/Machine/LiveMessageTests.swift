import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

@Suite struct LiveMessageTests {
    @Test func `no message to a runner holds that runner`() {
        let names = ["ann", "ben", "cat", "dan"]
        var fixture = LiveFixture(names, ghosts: [1: .init(user: nil, curve: RunCurve(pace: 300))])
        fixture.run(60, ["ann": 3, "ben": 3.3, "cat": 2.8, "dan": 3.1])
        for name in names {
            let messages = fixture.partners(name).map(\.message)
            #expect(!messages.isEmpty)
            #expect(messages.allSatisfy { $0.rows.allSatisfy { $0.runner != .participant(User(name)!) } })
            #expect(fixture.positions(name).flatMap(\.x).allSatisfy { $0.u != User(name)! })
        }
    }

    @Test func `rows have gaps at equal elapsed time, the largest first, and my place`() throws {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        fixture.run(300, ["ann": 3, "ben": 4, "cat": 2])
        fixture.pass(3)
        let message = try #require(fixture.partners("ann").last?.message)
        #expect(message.place == 2)
        #expect((message.distance, message.activeSeconds) == (900, 300))
        #expect(message.rows.map(\.runner) == [.participant(User("ben")!), .participant(User("cat")!)])
        #expect(message.rows.map(\.gapMeters) == [300, -300])
        #expect(message.rows.map(\.gapSeconds) == [75, -100])
        #expect(message.rows.map(\.distance) == [1_200, 600])
        let back = try #require(fixture.row("ann", for: "ben"))
        #expect((back.gapMeters, back.gapSeconds) == (-300, -75))
    }

    @Test func `a pause and a late start compare at equal active time`() throws {
        var fixture = LiveFixture()
        // Ben begins 100 s later, at the same speed.
        fixture.change("ben") { $0.startsAt = LiveFixture.start + 100 }
        for _ in 0..<300 {
            fixture.pass(1)
            fixture.metrics("ann", fixture.seconds * 3)
            if fixture.seconds > 100 { fixture.metrics("ben", (fixture.seconds - 100) * 3, at: fixture.seconds - 100) }
        }
        fixture.pass(3)
        #expect(fixture.row("ben", for: "ann")?.gapMeters == 0)
        #expect(fixture.row("ben", for: "ann")?.gapSeconds == 0)
    }

    @Test func `what a session did before the run's start does not count`() throws {
        for clock in [RunClock.active, .gun] {
            var fixture = LiveFixture(clock: clock)
            fixture.change("ben") { $0.startsAt = LiveFixture.start + 60 }
            fixture.change("ann") { $0.startsAt = LiveFixture.start + 60 }
            fixture.run(160, ["ann": 3, "ben": 3])
            #expect(fixture.live.curves[User("ben")!]?.distance == 300)
            #expect(fixture.live.curves[User("ben")!]?.duration == 100)
            // Received for the first time in the middle of the run.
            var late = LiveFixture(clock: clock)
            late.change("ben") { $0.startsAt = LiveFixture.start + 60 }
            late.pass(160)
            late.metrics("ben", 480)
            #expect(late.live.curves[User("ben")!]?.distance == 300)
            #expect(late.live.curves[User("ben")!]?.duration == 100)
        }
    }

    @Test func `with the gun pauses count`() {
        var fixture = LiveFixture(clock: .gun)
        fixture.run(100, ["ann": 3, "ben": 3])
        for _ in 0..<50 {
            fixture.pass(1)
            fixture.metrics("ann", fixture.seconds * 3)
            fixture.metrics("ben", 300, at: 100) { $0.isPaused = true }
        }
        fixture.pass(2.1)
        #expect(fixture.row("ben", for: "ann")?.gapMeters == -150)
        #expect(fixture.row("ben", for: "ann")?.gapSeconds == -50)
    }

    @Test func `figures of a late joiner begin with the run, in rolling runs with the own start`() throws {
        var stage = try Scene.running.stage()
        stage.advance(by: 100)
        stage.ask(RunStage.cleo, .accept(Sharing.Change()))
        #expect(stage.ask(RunStage.cleo, .confirm) == "ok")
        let late = stage.participant(RunStage.cleo)
        #expect(try #require(late.startsAt) > #require(stage.run.startsAt))
        #expect(stage.run.origin(of: late) == stage.run.startsAt)

        var rolling = try Scene.rolling.stage()
        #expect(rolling.ask(RunStage.ben, .confirm) == "ok")
        let own = rolling.participant(RunStage.ben)
        #expect(own.startsAt != nil)
        #expect(rolling.run.origin(of: own) == own.startsAt)
    }

    @Test func `by the gun who joins late stood until then, by active time both compare from their first second`() {
        for (clock, meters, seconds) in [(RunClock.gun, -300.0, -100.0), (.active, 0, 0)] {
            var fixture = LiveFixture(clock: clock)
            fixture.run(100, ["ann": 3])
            for _ in 0..<100 {
                fixture.pass(1)
                fixture.metrics("ann", fixture.seconds * 3)
                fixture.metrics("ben", (fixture.seconds - 100) * 3, at: fixture.seconds - 100)
            }
            fixture.pass(2.1)
            #expect(fixture.row("ben", for: "ann")?.gapMeters == meters)
            #expect(fixture.row("ben", for: "ann")?.gapSeconds == seconds)
            #expect(fixture.live.curves[User("ben")!]?.metres(at: clock == .gun ? 99 : 0) == 0)
        }
    }

    @Test func `a ghost has the metres of my own time, and stands at its end`() throws {
        var curve = RunCurve()
        for second in stride(from: 0.0, through: 60, by: 5) { curve.addPoint(second, second * 2) }
        var fixture = LiveFixture(
            ["ann", "ben"],
            ghosts: [1: .init(user: User("cat"), curve: curve), 2: .init(user: nil, curve: RunCurve(pace: 250))])
        #expect(fixture.partners("ann").last?.message.rows.first { $0.runner == .ghost(1) }?.distance == 0)
        fixture.run(30, ["ann": 3, "ben": 3])
        func ghost(_ number: Int) -> Partners.Row? {
            fixture.partners("ann").last?.message.rows.first { $0.runner == .ghost(number) }
        }
        fixture.pass(2.1)
        #expect(ghost(1)?.distance == 60)
        #expect(ghost(1)?.gapMeters == -30)
        #expect(ghost(1)?.link == .connected)
        #expect(ghost(1)?.speed == 2)
        #expect(ghost(2)?.gapMeters == 30)
        fixture.run(60, ["ann": 3, "ben": 3])
        fixture.pass(2.1)
        #expect(ghost(1)?.distance == 120)
        #expect(ghost(1)?.link == .finished)
        // 92.1 s at 3 m/s against 120 m.
        #expect(ghost(1)?.gapMeters == -156.3)
        // Blocking ends ghosts too.
        fixture.change("ann") { $0.blocked = [User("cat")!] }
        fixture.pass(3)
        #expect(ghost(1) == nil)
        #expect(ghost(2) != nil)
    }

    @Test func `who ended before the goal can be passed, who reached it first stays ahead`() throws {
        var fixture = LiveFixture(["ann", "ben", "cat"], goal: .distance(900))
        fixture.run(200, ["ann": 3, "ben": 4, "cat": 5])
        fixture.change("ben") { $0.status = .finished }
        fixture.run(95, ["ann": 3, "cat": 5])
        #expect(fixture.row("ben", for: "ann")?.gapMeters.map { $0 < 0 } == true)
        #expect(fixture.row("cat", for: "ann")?.gapMeters.map { $0 > 0 } == true)
        #expect(fixture.partners("ann").last?.message.place == 2)
        fixture.run(30, ["ann": 3])
        #expect(fixture.row("cat", for: "ann")?.gapMeters.map { $0 > 0 } == true)
        #expect(fixture.row("cat", for: "ann")?.link == .finished)
    }

    @Test func `a runner without a distance has a row without gap, last`() throws {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        for _ in 0..<20 {
            fixture.pass(1)
            fixture.metrics("ann", fixture.seconds * 3)
            fixture.metrics("ben", nil)
            fixture.metrics("cat", fixture.seconds * 2)
        }
        let rows = try #require(fixture.partners("ann").last?.message.rows)
        #expect(rows.map(\.runner) == [.participant(User("cat")!), .participant(User("ben")!)])
        #expect(rows[1].gapMeters == nil)
        #expect(fixture.partners("ann").last?.message.place == 1)
        #expect(fixture.partners("ben").last?.message.place == nil)
    }

    @Test func `who has not begun has no row, and sees the others`() {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        fixture.change("cat") { $0.status = .confirmed }
        fixture.run(10, ["ann": 3, "ben": 3])
        #expect(fixture.row("cat", for: "ann") == nil)
        #expect(fixture.partners("cat").last?.message.rows.count == 2)
        fixture.change("cat") { $0.status = .absent }
        fixture.outputs = []
        fixture.pass(20)
        #expect(fixture.partners("cat").isEmpty == false)
    }

    @Test func `metrics are read as they are written, and foreign ones are recognized`() throws {
        var snapshot = MetricsSnapshot(user: User("ann")!, revision: 1_767_225_600_123)
        snapshot.newest = LiveFixture.start
        (snapshot.activeSeconds, snapshot.distance, snapshot.speed) = (61.5, 200.25, 3.1)
        (snapshot.pace, snapshot.heartRate, snapshot.activeEnergy, snapshot.battery) = (322.6, 151, 17.2, 0.5)
        (snapshot.latitude, snapshot.longitude, snapshot.isPaused, snapshot.count) = (47.5, -8.25, true, 62)
        snapshot.devices = [Device("r")!: DevicePresence(newest: LiveFixture.start, battery: 0.5)]
        #expect(!RunnerMetrics.namesRun(snapshot.payload[...]))
        snapshot.run = LiveFixture.run
        #expect(RunnerMetrics.namesRun(snapshot.payload[...]))
        #expect(try MetricsSnapshot(snapshot.payload).run == LiveFixture.run)
        let metrics = try RunnerMetrics(snapshot.payload[...])
        #expect(metrics.run == LiveFixture.run)
        #expect(metrics.revision == snapshot.revision)
        #expect((metrics.newest, metrics.count, metrics.isPaused) == (snapshot.newest, 62, true))
        #expect((metrics.activeSeconds, metrics.distance, metrics.speed) == (61.5, 200.25, 3.1))
        #expect((metrics.pace, metrics.heartRate, metrics.activeEnergy, metrics.battery) == (322.6, 151, 17.2, 0.5))
        #expect(metrics.position == Coordinate(latitude: 47.5, longitude: -8.25))
        let far = #"{"d":1e300,"h":1e300,"la":1e300,"lo":13,"r":"\#(LiveFixture.run)","s":1}"#
        let impossible = try RunnerMetrics(Array(far.utf8)[...])
        #expect(impossible.distance == nil && impossible.position == nil)
        #expect(!RunnerMetrics.namesRun([]))
        #expect(!RunnerMetrics.namesRun(Array("\"r\":".utf8)[...]))
        for text in ["", "{", "[]", "{\"s\":-1}", "{\"d\":1}", "{\"s\":1"] {
            #expect(throws: PayloadError.self) { try RunnerMetrics(Array(text.utf8)[...]) }
        }
    }
}
