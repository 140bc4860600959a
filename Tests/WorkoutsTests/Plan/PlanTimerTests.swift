import Testing

@testable import Workouts

/// Each clock at its boundaries.
@Suite struct PlanTimerTests {
    private typealias Item = WorkoutDefinition.Item

    private static func run(_ timer: TimerConfiguration, _ items: Item..., then next: TimerConfiguration? = nil)
        -> PlannedRun
    {
        let last = next.map { [WorkoutDefinition.Section(timer: $0, items: [Item(id: "z", name: "Z")])] } ?? []
        return PlannedRun(WorkoutDefinition(sections: [.init(timer: timer, items: items)] + last))
    }

    private static let a = Item(id: "a", name: "A")
    private static let b = Item(id: "b", name: "B")

    @Test(arguments: [
        (0.0, "0 a work 1", 20.0), (19.999_999, "0 a work 1", 20), (20, "0 a rest 1", 30), (30, "0 b work 2", 50),
        (50, "0 b rest 2", 60), (60, "0 a work 3", 80), (79.999_999, "0 a work 3", 80),
    ])
    func `an interval alternates work and rest and its exercises take turns`(at: Double, name: String, end: Double) {
        let run = Self.run(TimerConfiguration(.interval, work: 20, rest: 10, rounds: 3), Self.a, Self.b)
        #expect(run.timer(at).name == name)
        #expect(run.timer(at).endsAt == end)
        #expect(run.timer(at).rounds == 3)
    }

    @Test func `an interval ends after the last work of the last block and its clock stops`() {
        let run = Self.run(TimerConfiguration(.interval, work: 20, rest: 10, rounds: 3), Self.a, Self.b)
        for moment in [80.0, 90, 1_000] {
            #expect(run.timer(moment).name == "0 a over 3")
            #expect(run.timer(moment).endsAt == nil)
            #expect(run.timer(moment).elapsed == 80_000_000)
            #expect(run.timer(moment).phaseStart == 80_000_000)
        }
    }

    @Test(arguments: [nil, 0.0]) func `an interval without rest advances from round to round`(rest: Double?) {
        let run = Self.run(TimerConfiguration(.interval, work: 20, rest: rest, rounds: 2), Self.a)
        #expect(run.timer(19.999_999).name == "0 a work 1")
        #expect(run.timer(20).name == "0 a work 2")
        #expect(run.timer(40).name == "0 a over 2")
    }

    @Test func `an emom takes a minute a round or its given time`() {
        let minutes = Self.run(TimerConfiguration(.emom, rounds: 2), Self.a, Self.b)
        #expect(minutes.timer(59.999_999).name == "0 a work 1")
        #expect(minutes.timer(60).name == "0 b work 2")
        #expect(minutes.timer(120).name == "0 b over 2")
        let longer = Self.run(TimerConfiguration(.emom, work: 90, rounds: 2), Self.a)
        #expect(longer.timer(89.999_999).endsAt == 90)
        #expect(longer.timer(90).name == "0 a work 2")
    }

    @Test func `the minute after a completed emom set is rest until the set is taken back`() throws {
        var run = Self.run(TimerConfiguration(.emom, rounds: 3), Self.a, Self.b)
        try run.complete(at: 25)
        #expect(run.timer(30).name == "0 a rest 1")
        #expect(run.timer(30).phaseStart == 25_000_000)
        #expect(run.timer(30).endsAt == 60)
        #expect(run.timer(60).name == "0 b work 2")
        try run.apply(.uncompleteSet(SetReference()), at: 40)
        #expect(run.timer(40).name == "0 a work 1")
    }

    @Test func `a block whose time is over advances to a block of any kind`() {
        for timer in [
            TimerConfiguration(.countdown, work: 60), TimerConfiguration(.interval, work: 25, rest: 10, rounds: 2),
            TimerConfiguration(.emom, work: 30, rounds: 2), TimerConfiguration(.amrap, cap: 60),
            TimerConfiguration(.forTime, cap: 60),
        ] {
            for next in [TimerConfiguration(.stopwatch), TimerConfiguration(.emom, rounds: 1)] {
                let run = Self.run(timer, Self.a, then: next)
                #expect(run.timer(59.999_999).block == 0)
                #expect(run.timer(60).name == "1 z work 1")
                #expect(run.timer(65).elapsed == 5_000_000)
            }
        }
    }

    @Test func `a countdown ends with its time`() {
        let run = Self.run(TimerConfiguration(.countdown, work: 60), Self.a)
        #expect(run.timer(0).endsAt == 60)
        #expect(run.timer(59.999_999).name == "0 a work 1")
        #expect(run.timer(60).name == "0 a over 1")
        #expect(run.timer(100).elapsed == 60_000_000)
    }

    @Test func `a countdown with all sets completed continues to its end`() throws {
        var run = Self.run(TimerConfiguration(.countdown, work: 60), Self.a, then: TimerConfiguration(.stopwatch))
        try run.complete(at: 10)
        #expect(run.timer(20).name == "0 a over 1")
        #expect(run.timer(20).endsAt == 60)
        #expect(run.timer(60).name == "1 z work 1")
    }

    @Test func `a stopwatch counts up until its sets are completed`() throws {
        var run = Self.run(TimerConfiguration(.stopwatch), Self.a, Self.b)
        #expect(run.timer(10_000).name == "0 a work 1")
        #expect(run.timer(10_000).elapsed == 10_000_000_000)
        #expect(run.timer(10_000).endsAt == nil)
        try run.complete(at: 10_000)
        try run.complete(at: 10_001)
        #expect(run.timer(10_001).name == "0 b over 1")
        #expect(run.timer(10_002).elapsed == 10_002_000_000)
    }

    @Test func `an amrap advances from round to round until its cap`() throws {
        var run = Self.run(TimerConfiguration(.amrap, cap: 60), Self.a, Self.b)
        for (moment, name) in [(10.0, "0 b work 1"), (20, "0 a work 2"), (30, "0 b work 2"), (40, "0 a work 3")] {
            try run.complete(at: moment)
            #expect(run.timer(moment).name == name)
            #expect(run.timer(moment).rounds == nil)
            #expect(run.timer(moment).endsAt == 60)
        }
        #expect(run.timer(60).name == "0 a over 3")
        #expect(run.timer(61).elapsed == 60_000_000)
    }

    @Test func `an amrap has as many rounds as the limit of sets allows`() throws {
        var run = Self.run(TimerConfiguration(.amrap, cap: 36_000), Self.a)
        for set in 0..<PlanLimits.sets { try run.complete(at: Double(set)) }
        #expect(run.timer(300).phase == .over)
        #expect(run.timer(300).round == PlanLimits.rounds)
        #expect(throws: Refusal.self) { try run.complete(at: 301) }
        #expect(run.rounds(endedAt: 301).count == PlanLimits.rounds)
    }

    @Test func `work against time ends with its last set and its clock stops`() throws {
        var run = Self.run(TimerConfiguration(.forTime, rounds: 2, cap: 60), Self.a, Self.b)
        for moment in [10.0, 20, 30] { try run.complete(at: moment) }
        #expect(run.timer(39).name == "0 b work 2")
        try run.complete(at: 40)
        for moment in [40.0, 50, 60, 70] {
            #expect(run.timer(moment).name == "0 b over 2")
            #expect(run.timer(moment).elapsed == 40_000_000)
            #expect(run.timer(moment).endsAt == nil)
        }
    }

    @Test func `work against time ends with its cap`() throws {
        var run = Self.run(TimerConfiguration(.forTime, rounds: 2, cap: 60), Self.a, Self.b)
        try run.complete(at: 10)
        #expect(run.timer(59.999_999).endsAt == 60)
        #expect(run.timer(60).name == "0 b over 1")
        #expect(run.timer(70).elapsed == 60_000_000)
    }

    @Test func `work against time without a cap ends only with its last set`() {
        let run = Self.run(TimerConfiguration(.forTime), Self.a, then: TimerConfiguration(.emom, rounds: 1))
        #expect(run.timer(36_000).name == "0 a work 1")
        #expect(run.timer(36_000).endsAt == nil)
    }

    @Test func `a rest counts from the completed set and ends during a long pause of the clock`()
        throws
    {
        let item = Item(id: "a", name: "A", sets: [.init(rest: 90), .init(rest: 0), .init()])
        var run = PlannedRun(
            WorkoutDefinition(sections: [.init(items: [item])]), pauses: [.init(at: 50, length: 3_600)])
        try run.complete(at: 40)
        #expect(run.timer(40).name == "0 a rest 1")
        #expect(run.timer(50).endsAt == 130)
        #expect(run.timer(129.999_999).name == "0 a rest 1")
        #expect(run.timer(130).name == "0 a work 1")
        try run.complete(at: 140)
        #expect(run.timer(140).name == "0 a work 1")
    }

    @Test func `a set completed during its rest ends the rest`() throws {
        let item = Item(id: "a", name: "A", sets: [.init(rest: 90), .init(rest: 30), .init()])
        var run = Self.run(TimerConfiguration(.stopwatch), item)
        try run.complete(at: 10)
        try run.complete(at: 20)
        #expect(run.timer(20).endsAt == 50)
        #expect(run.timer(50).name == "0 a work 1")
    }

    @Test func `a rest continues into a stopwatch but not into a block with its own clock`() throws {
        let item = Item(id: "a", name: "A", sets: [.init(rest: 90)])
        for (next, name) in [
            (TimerConfiguration(.stopwatch), "1 z rest 1"), (TimerConfiguration(.amrap, cap: 60), "1 z work 1"),
            (TimerConfiguration(.forTime), "1 z work 1"), (TimerConfiguration(.emom, rounds: 1), "1 z work 1"),
        ] {
            var run = Self.run(TimerConfiguration(.stopwatch), item, then: next)
            try run.complete(at: 10)
            if run.timer(20).block == 0 { try run.apply(.goTo(item: "z"), at: 20) }
            #expect(run.timer(20).name == name)
        }
    }

    @Test func `a set from a device whose clock is ahead starts its rest at once and ends it on time`() throws {
        let item = Item(id: "a", name: "A", sets: [.init(rest: 90), .init()])
        var run = Self.run(TimerConfiguration(.stopwatch), item)
        try run.complete(at: 12)
        #expect(run.timer(10).name == "0 a rest 1")
        #expect(run.timer(10).endsAt == 102)
    }

    @Test func `a rest ends with its block`() throws {
        let item = Item(id: "a", name: "A", sets: [.init(rest: 90), .init()])
        var run = Self.run(TimerConfiguration(.amrap, cap: 60), item)
        try run.complete(at: 10)
        #expect(run.timer(10).endsAt == 60)
        #expect(run.timer(60).phase == .over)
    }

    @Test func `a timed set ends with its time after the rest before it`() throws {
        let item = Item(id: "a", name: "Plank", sets: [.init(time: 60, rest: 30), .init(time: 45)])
        var run = Self.run(TimerConfiguration(.stopwatch), item)
        #expect(run.timer(59.999_999).endsAt == 60)
        #expect(run.timer(60).name == "0 a over 1 set 0")
        #expect(run.timer(500).phaseStart == 60_000_000)
        try run.complete(at: 70)
        #expect(run.timer(70).endsAt == 100)
        #expect(run.timer(100).name == "0 a work 1")
        #expect(run.timer(100).endsAt == 145)
        #expect(run.timer(145).name == "0 a over 1 set 1")
    }

    @Test func `a cap after the end of a set is shown beside it`() {
        let item = Item(id: "a", name: "Plank", sets: [.init(time: 20)])
        let run = Self.run(TimerConfiguration(.amrap, cap: 60), item)
        #expect(run.timer(20).name == "0 a over 1 set 0")
        #expect(run.timer(20).endsAt == 60)
        #expect(run.timer(60).name == "0 a over 1")
        #expect(PlanCue.Phase(run.timer(20)) != PlanCue.Phase(run.timer(60)))
    }
}
