import Foundation
import TestSupport
import Testing

@testable import Workouts

/// Stored plans may be damaged: decoding refuses them, or everything can be computed from them.
@Suite struct DamagedPlannedWorkoutTests {
    private static let values = [
        "-1", "0", "1", "2", "17", "200", "201", "0.5", "1e15", "-1e15", "9223372036854775807", "1e308", "[]", "\"00\"",
    ]

    private static func damage(_ bytes: Data, _ random: inout SeededRandom) -> Data {
        var text = String(decoding: bytes, as: UTF8.self)
        let numbers = text.ranges(of: #/[:,\[]-?[0-9]+(\.[0-9]+)?(?=[,\]}])/#)
        if let number = numbers.randomElement(using: &random) {
            let digits = text.index(after: number.lowerBound)..<number.upperBound
            text.replaceSubrange(digits, with: values.randomElement(using: &random)!)
        }
        return Data(text.utf8)
    }

    /// Unsorted segments at extreme times, some open.
    private static func segments(_ random: inout SeededRandom) -> [Segment] {
        (0..<Int.random(in: 0...4, using: &random)).map { _ in
            Segment(start: moment(&random), end: Bool.random(using: &random) ? moment(&random) : nil)
        }
    }

    private static func moment(_ random: inout SeededRandom) -> Timestamp {
        let seconds: [Double] = [-1e300, -1, 0, year2026.seconds, year2026.seconds + 100, 253_402_300_799, 1e300]
        return Timestamp(seconds: seconds.randomElement(using: &random)!)
    }

    @Test func `a damaged plan is refused or computable in any segments`() throws {
        var random = SeededRandom()
        var (taken, refused) = (0, 0)
        for _ in 0..<50 {
            let definition = random.definition()
            var run = PlannedRun(definition)
            for (at, action) in random.actions(definition) { try? run.apply(action, at: at) }
            let bytes = try JSONEncoder().encode(run.planned)
            for _ in 0..<20 {
                let damaged = Self.damage(bytes, &random)
                guard var planned = try? JSONDecoder().decode(PlannedWorkout.self, from: damaged) else {
                    refused += 1
                    continue
                }
                let (segments, end) = (Self.segments(&random), Self.moment(&random))
                let state = planned.state(at: end, segments)
                #expect(planned.plan.item(state.progress.item) != nil, "seed \(random.seed)")
                #expect(state.progress.done <= state.progress.total, "seed \(random.seed)")
                let sets = planned.performedSets(segments, endedAt: end)
                #expect(sets.allSatisfy { $0.start <= $0.end && $0.duration >= 0 }, "seed \(random.seed)")
                #expect(planned.rounds(segments, endedAt: end).allSatisfy { $0.startedAt <= $0.endedAt })
                for _ in 0..<5 { try? planned.apply(random.action(definition), at: Self.moment(&random), segments) }
                taken += 1
            }
        }
        #expect(taken > 100 && refused > 100)
    }

    @Test func `a plan state with an impossible round is not shown`() throws {
        let sections = [
            WorkoutDefinition.Section(
                timer: TimerConfiguration(.interval, work: 20, rest: 10, rounds: 4),
                items: [.init(id: "a", name: "A"), .init(id: "b", name: "B")])
        ]
        let run = PlannedRun(WorkoutDefinition(sections: sections))
        var state = run.planned.state(at: run.time(25), run.segments)
        #expect(state.isConsistent && state.next?.id == "b")
        for round in [-7, 0, PlanLimits.rounds + 1] {
            state.timer.round = round
            #expect(!state.isConsistent, "\(round)")
        }
    }

    @Test func `progress of another plan is refused`() throws {
        let definition = WorkoutDefinition(sections: [
            .init(items: [.init(id: "a", name: "A"), .init(id: "b", name: "B")])
        ])
        var run = PlannedRun(definition)
        try run.complete("a", at: 1)
        let whole = String(decoding: try JSONEncoder().encode(run.planned), as: UTF8.self)
        let damages = [
            (#""block":0"#, #""block":1"#), (#""chosen":0"#, #""chosen":1"#), (#""round":1"#, #""round":0"#),
            (#""set":0"#, #""set":-1"#), (#""type":"stopwatch""#, #""type":"amrap""#), (#""id":"b""#, #""id":"a""#),
            (#""id":"a""#, #""id":"c""#), (#""name":"A""#, #""name":"""#), (#""round":1"#, #""exercise":1,"round":1"#),
        ]
        _ = try JSONDecoder().decode(PlannedWorkout.self, from: Data(whole.utf8))
        for (part, other) in damages {
            let text = whole.replacing(part, with: other)
            try #require(text != whole, "\(part)")
            #expect(throws: DecodingError.self, "\(other)") {
                try JSONDecoder().decode(PlannedWorkout.self, from: Data(text.utf8))
            }
        }
        let twice = whole.replacing(#/"a":\[(\{[^}]*\})\]/#) { "\"a\":[\($0.1),\($0.1)]" }
        try #require(twice != whole)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(PlannedWorkout.self, from: Data(twice.utf8))
        }
    }
}
