import Bus
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

@Suite struct LiveCueTests {
    @Test func `a finish is announced once, over restarts, and again in the next run`() throws {
        for _ in 0..<2 {
            var fixture = LiveFixture(["ann", "ben", "cat"], goal: .distance(500))
            fixture.run(130, ["ann": 3, "ben": 4, "cat": 2])
            let cue = try #require(fixture.cues("ann", .finished).first)
            #expect(cue.cue.user == User("ben")!)
            #expect(cue.cue.distance == 500)
            #expect(cue.cue.pace == 250)
            #expect(abs(cue.at - 125) <= 1)
            try fixture.restart()
            fixture.run(10, ["ann": 3, "ben": 4, "cat": 2])
            fixture.change("ben") { $0.status = .finished }
            try fixture.restart()
            fixture.change("ben") { $0.status = .running }
            fixture.change("ben") { $0.status = .finished }
            #expect(fixture.cues("ann", .finished).count == 1)
            #expect(fixture.cues("cat", .finished).count == 1)
            #expect(fixture.cues("ben", .finished).isEmpty)
        }
    }

    @Test func `a finish is seen whoever ended first`() {
        for (first, second) in [("ann", "ben"), ("ben", "ann")] {
            var fixture = LiveFixture()
            fixture.run(100, ["ann": 3, "ben": 3.1])
            fixture.change(first) { $0.status = .finished }
            #expect(fixture.cues(second, .finished).count == 1)
            fixture.pass(0.3)
            #expect(fixture.row(first, for: second)?.link == .finished)
            fixture.run(50, first == "ann" ? ["ben": 3.1] : ["ann": 3])
            // The last one ends the run.
            fixture.update { roster in
                for index in roster.participants.indices { roster.participants[index].status = .finished }
                roster.status = .finished
            }
            #expect(fixture.cues(first, .finished).count == 1)
            #expect(fixture.cues(second, .finished).count == 1)
        }
    }

    @Test func `leaving is announced once, and not after a finish`() throws {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        fixture.run(20, ["ann": 3, "ben": 3, "cat": 3])
        fixture.change("ben") { $0.status = .left }
        #expect(fixture.cues("ann", .left).map(\.cue.user) == [User("ben")!])
        try fixture.restart()
        fixture.change("ben") { $0.status = .running }
        fixture.change("ben") { $0.status = .left }
        #expect(fixture.cues("ann", .left).count == 1)
        #expect(fixture.cues("ben", .left).isEmpty)
        fixture.change("cat") { $0.status = .finished }
        fixture.change("cat") { $0.status = .left }
        #expect(fixture.cues("ann", .left).count == 1)
    }

    @Test func `a canceled session is announced as leaving, one that never began is not`() {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        fixture.change("cat") { ($0.status, $0.session) = (.confirmed, nil) }
        fixture.run(20, ["ann": 3, "ben": 3])
        fixture.change("ben") { ($0.status, $0.session) = (.left, nil) }
        #expect(fixture.cues("ann", .left).map(\.cue.user) == [User("ben")!])
        fixture.update { roster in
            var dan = RunRoster.Participant(User("dan")!, .confirmed, sharing: .all)
            dan.startsAt = LiveFixture.start
            roster.participants.append(dan)
        }
        fixture.change("dan") { $0.status = .left }
        #expect(fixture.cues("ann", .left).count == 1)
    }

    @Test func `above eight runners a finish is announced every 30 s at most`() {
        let names = (1...12).map { "r\($0)" }
        var fixture = LiveFixture(names)
        for name in names { fixture.metrics(name, 0) }
        for name in names.dropFirst().prefix(5) {
            fixture.pass(10)
            fixture.change(name) { $0.status = .finished }
        }
        #expect(fixture.cues("r1", .finished).map(\.at) == [10, 40])
    }

    @Test func `each kilometre tells place and the next ahead and behind, once`() throws {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        fixture.run(250, ["ann": 4, "ben": 5, "cat": 2])
        let cue = try #require(fixture.cues("ann", .gap).first)
        #expect(cue.at == 250)
        #expect((cue.cue.number, cue.cue.unit, cue.cue.place) == (1, .kilometer, 2))
        #expect(cue.cue.ahead?.user == User("ben")!)
        #expect(cue.cue.ahead?.meters.map { abs($0 - 250) < 10 } == true)
        #expect(cue.cue.ahead?.seconds.map { abs($0 - 50) < 3 } == true)
        #expect(cue.cue.behind?.user == User("cat")!)
        #expect(cue.cue.behind?.meters.map { abs($0 - 500) < 10 } == true)
        try fixture.restart()
        fixture.run(20, ["ann": 4, "ben": 5, "cat": 2])
        #expect(fixture.cues("ann", .gap).count == 1)
        #expect(fixture.cues("ben", .gap).count == 1)
        #expect(fixture.cues("cat", .gap).isEmpty)
    }

    @Test func `a kilometre leaves out a partner whose data are old, and says nothing without another`() throws {
        for silence in [9, 60] {
            var fixture = LiveFixture(["ann", "ben", "cat"])
            fixture.run(250 - silence, ["ann": 4, "ben": 5, "cat": 2])
            fixture.run(silence, ["ann": 4, "cat": 2])
            let cue = try #require(fixture.cues("ann", .gap).first?.cue)
            #expect((cue.place, cue.ahead, cue.behind?.user) == (1, nil, User("cat")!))
            fixture.pass(3)
            #expect(fixture.partners("ann").last?.message.place == 1)

            var two = LiveFixture()
            two.run(250 - silence, ["ann": 4, "ben": 5])
            two.run(silence, ["ann": 4])
            #expect(two.cues("ann", .gap).isEmpty)
            two.pass(3)
            #expect(two.partners("ann").last?.message.place == nil)
            // The reader reads that the gap is old.
            #expect(two.row("ben", for: "ann")?.isCurrent == false)
        }
    }

    @Test func `a finish names the goal, and no metres short of it while the last items are missing`() throws {
        var reached = LiveFixture(goal: .distance(501.3))
        reached.run(130, ["ann": 3, "ben": 4])
        #expect(reached.cues("ann", .finished).map(\.cue.distance) == [501.3])
        var late = LiveFixture(goal: .distance(1_000))
        late.run(249, ["ann": 3, "ben": 4])
        late.change("ben") { $0.status = .finished }
        #expect(late.cues("ann", .finished).map(\.cue.distance) == [nil])
        var early = LiveFixture(goal: .distance(1_000))
        early.run(100, ["ann": 3, "ben": 4])
        early.change("ben") { $0.status = .finished }
        #expect(early.cues("ann", .finished).map(\.cue.distance) == [400])
    }

    @Test func `who uses miles gets them each mile`() {
        var fixture = LiveFixture()
        fixture.change("ann") { $0.units = .imperial }
        fixture.run(410, ["ann": 4, "ben": 3])
        #expect(fixture.cues("ann", .gap).map(\.cue.unit) == [.mile])
        #expect(fixture.cues("ann", .gap).map(\.at) == [403])
    }

    @Test func `the lead is told from 50 m on, when taken and when lost by 5 m`() {
        var fixture = LiveFixture()
        fixture.run(30, ["ann": 3, "ben": 2])
        let taken = fixture.cues("ann", .lead)
        #expect(taken.map(\.cue.taken) == [true])
        #expect(taken.map(\.cue.user) == [User("ben")!])
        #expect(taken[0].at >= 50 / 3)
        #expect(fixture.cues("ben", .lead).isEmpty)
        // Ben passes: 2 · 30 + 6 · x is 5 m more than 3 · 30 + 2 · x after 9 s.
        var (ann, ben) = (90.0, 60.0)
        for _ in 0..<15 {
            fixture.pass(1)
            ann += 2
            ben += 6
            fixture.metrics("ann", ann)
            fixture.metrics("ben", ben)
        }
        #expect(fixture.cues("ann", .lead).map(\.cue.taken) == [true, false])
        #expect(fixture.cues("ben", .lead).map(\.cue.taken) == [true])
        #expect(fixture.cues("ben", .lead).map(\.cue.user) == [User("ann")!])
    }

    @Test func `a lead that changes each second is told every 10 s at most`() {
        var fixture = LiveFixture()
        for step in 0..<120 {
            fixture.pass(1)
            fixture.metrics("ann", fixture.seconds * 10)
            fixture.metrics("ben", fixture.seconds * 10 + (step / 3 % 2 == 0 ? 8 : -8))
        }
        let times = fixture.cues("ann", .lead).map(\.at)
        #expect(times.count >= 2)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 10 })
    }

    @Test func `nobody passes a disconnected runner`() {
        var fixture = LiveFixture()
        fixture.run(60, ["ann": 2, "ben": 3])
        fixture.outputs = []
        // Ben's last point stays at 180 m after 60 s; Ann is compared there.
        fixture.run(100, ["ann": 6])
        #expect(fixture.cues("ann", .lead).isEmpty)
    }

    @Test func `no pace below 50 m or above 1,800 s/km`() {
        var fixture = LiveFixture()
        for (distance, pace, shown) in [
            (49.0, 300.0, nil), (50, 300, 300.0), (80, 1_801, nil), (90, 1_800, 1_800),
        ] as [(Double, Double, Double?)] {
            fixture.pass(3)
            fixture.metrics("ben", distance) { $0.pace = pace }
            fixture.pass(2)
            #expect(fixture.row("ben", for: "ann")?.pace == shown)
        }
        fixture.change("ben") { $0.status = .finished }
        #expect(fixture.cues("ann", .finished).first?.cue.pace.map { $0 <= 1_800 } == true)
        var short = LiveFixture()
        short.pass(10)
        short.metrics("ben", 40)
        short.change("ben") { $0.status = .finished }
        #expect(short.cues("ann", .finished).map(\.cue.pace) == [nil])
    }

    @Test func `what was given is stored before the cue goes out`() throws {
        var fixture = LiveFixture()
        fixture.run(20, ["ann": 3, "ben": 3])
        let changes = fixture.live.storedChanges
        fixture.change("ben") { $0.status = .finished }
        #expect(fixture.live.storedChanges > changes)
        #expect(fixture.live.stored.runners.first { $0.user == User("ben")! }?.toldFinish == true)
    }
}
