import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// Payloads with the largest possible plan and progress fit the limit.
@Suite struct LargestPlanTests {
    private static let start = Timestamp(seconds: 1_700_000_000.123457)
    /// The 256 KiB of a payload, less its topic.
    private static let room = 256 * 1_024 - 512
    /// The character with the longest JSON encoding.
    private static let name = String(repeating: "\"", count: PlanLimits.name)
    private static let smallest = 1.2345678901234567e-300

    private static func id(_ number: Int) -> String {
        String(repeating: "\"", count: PlanLimits.id - 2) + "\(10 + number)"
    }

    private static func item(_ number: Int) -> WorkoutDefinition.Item {
        WorkoutDefinition.Item(id: id(number), name: name, alternatives: [PlannedExercise(name: "x")])
    }

    /// The maximum number of rounds: of the clock, and of one repeated exercise.
    private static func definition() -> WorkoutDefinition {
        let paced = (0..<PlanLimits.items - 2).map(item)
        var over = item(PlanLimits.items - 2)
        over.sets = [PlannedSet(repetitions: 1_000, rest: smallest)]
        let emom = TimerConfiguration(.emom, work: 1, rounds: min(PlanLimits.rounds, PlanLimits.sets - 2))
        let words = Array(repeating: name, count: PlanLimits.words)
        return filled(
            WorkoutDefinition(
                name: name, focus: words, equipment: words,
                sections: [
                    .init(name: name, timer: emom, items: paced),
                    .init(name: name, timer: TimerConfiguration(.amrap, cap: 36_000), items: [over]),
                    .init(name: name, items: [item(PlanLimits.items - 1)]),
                ]))
    }

    /// Adds alternatives up to the limit.
    private static func filled(_ definition: WorkoutDefinition) -> WorkoutDefinition {
        var definition = definition
        for index in definition.sections[0].items.indices {
            for number in 1..<PlanLimits.alternatives {
                var larger = definition
                let name = String(name.dropLast()) + "\(number)"
                larger.sections[0].items[index].alternatives?.append(PlannedExercise(name: name, exercise: .benchPress))
                guard larger.validationError == nil else { return definition }
                definition = larger
            }
        }
        Issue.record("there is room for every alternative")
        return definition
    }

    /// With the maximum number of pauses, laps, streams, completed sets, rounds and visits.
    private static func session() throws -> Session {
        let key = SessionKey(User(String(repeating: "x", count: 64))!, SessionID(UUID()))
        var begin = SessionStart(activity: .traditionalStrength, countdown: 0)
        begin.name = String(repeating: "\"", count: 200)
        begin.definition = definition()
        try #require(begin.definition?.validationError == nil)
        var session = Session(key: key, start: begin, at: start, now: start)
        var time = start
        for number in 0..<Session.plannedSegmentLimit {
            if number < Session.plannedLapLimit { try session.apply(.lap, at: time + 0.123457) }
            try session.apply(.pause, at: time + 1.234568)
            try session.apply(.resume, at: time + 1.345679)
            time = time + 1.357913
        }
        let (over, last) = (id(PlanLimits.items - 2), id(PlanLimits.items - 1))
        try session.apply(.plan(.swapExercise(item: over, alternative: nil)), at: time)
        for number in 0..<PlanLimits.sets {
            // Every other exercise once, the remaining sets on the repeated one.
            let paced = number < PlanLimits.items - 2 ? number : nil
            let reference = SetReference(
                item: paced.map(id) ?? over, set: 0, round: paced.map { $0 + 1 } ?? number - PlanLimits.items + 3)
            let set = SetCompletion(reference, repetitions: 1_000, weight: smallest, time: 35_999.12345678901)
            time = time + 0.123457
            try session.apply(.plan(.completeSet(set)), at: time)
        }
        for number in 0..<(PlanLimits.changes - PlanLimits.items) {
            let paced = id(number % (PlanLimits.items - 2))
            try session.apply(.plan(.swapExercise(item: paced, alternative: nil)), at: time)
        }
        for number in 1..<PlanLimits.visits {
            time = time + 0.123457
            try session.apply(.plan(.goTo(item: number % 2 == 0 ? over : last)), at: time)
        }
        for number in 0..<PlanLimits.items {
            try session.apply(.plan(.flagPain(item: id(number))), at: time)
            if id(number) != over { try session.apply(.plan(.skipExercise(item: id(number))), at: time) }
        }
        let streams = (0..<SessionAction.streamLimit).map { number in
            (StreamName("locations/\(String(repeating: "x", count: 60))\(1_000 + number)")!, StreamLimits.items)
        }
        try session.apply(.end(streams: Dictionary(uniqueKeysWithValues: streams)), at: time + 1)
        return session
    }

    private static func record(_ session: Session) throws -> WorkoutRecord {
        var totals = MetricsSummary()
        let lap =
            #"{"activeEnergy":12345.678,"ascent":1234.567,"averageCadence":123.456,"averageHeartRate":123.456,"#
            + #""averagePower":1234.567,"distance":123456.789,"duration":12345.678,"endedAt":1700000000.123457,"#
            + #""maximumHeartRate":123.456,"pace":1234.567,"startedAt":1700000000.123457}"#
        let split =
            #"{"activeEnergy":1234.567,"ascent":1234.567,"averageCadence":123.456,"averageHeartRate":123.456,"#
            + #""averagePower":1234.567,"distance":1609.344,"duration":12345.678,"maximumHeartRate":123.456,"#
            + #""pace":1234.567}"#
        totals.laps = Array(
            repeating: try JSONCoding.decode(MetricsSummary.Lap.self, from: lap.utf8),
            count: Session.plannedLapLimit + 1)
        totals.splits = Array(
            repeating: try JSONCoding.decode(MetricsSummary.Split.self, from: split.utf8),
            count: MetricsSummary.splitLimit(laps: 0))
        try totals.fill()
        var route = RouteSummary()
        // All characters of an encoded polyline, equally often.
        let letters = (63...126).map { Character(UnicodeScalar($0)) }
        route.polyline = [String((0..<RouteSummary.polylineLimit).map { letters[$0 % letters.count] })]
        return WorkoutRecord(
            session, metrics: MetricsReport(revision: 1, state: 1, next: session.streams, chunks: 1, totals: totals),
            route: RouteReport(revision: 1, state: 1, next: session.streams, chunks: 1, totals: route),
            isComplete: true, revision: 1)
    }

    @Test func `the largest workout with a plan fits a payload`() throws {
        let session = try Self.session()
        let record = try Self.record(session)
        #expect(record.progress?.progress.completed.values.map(\.count).reduce(0, +) == PlanLimits.sets)
        #expect((record.rounds?.count ?? 0) > PlanLimits.sets)
        #expect(record.splits.count > 40)
        let size = JSONCoding.encode(record).count
        #expect(size <= Self.room, "\(size)")
    }

    @Test func `the largest state with a plan and its coach request fit a payload`() throws {
        let session = try Self.session()
        let moment = try #require(session.endedAt)
        let plan = try #require(session.planState(moment))
        let state = PublishedState(session.state(revision: .max, lastActiveAt: moment), plan)
        #expect(JSONCoding.encode(state).count <= Self.room)
        let request = CoachRequest(
            id: CommandID(UUID()), session: session.key.session, type: .adjustDifficulty,
            activity: .traditionalStrength, item: plan.progress.item, difficulty: .harder, plan: plan.plan,
            progress: plan.progress, answerBy: moment)
        #expect(JSONCoding.encode(request).count <= Self.room)
    }

    @Test func `repeated swaps and changes of difficulty keep a plan within its size`() throws {
        let sets = (0..<20).map { PlannedSet(repetitions: 8, weight: 20.1 + Double($0), time: 30.5, rest: 90.5) }
        let items = (0..<10).map { number in
            let alternatives = (0..<PlanLimits.alternatives).map { PlannedExercise(name: "\($0)") }
            return WorkoutDefinition.Item(id: "\(number)", name: "x", sets: sets, alternatives: alternatives)
        }
        var start = SessionStart(activity: .traditionalStrength, countdown: 0)
        start.definition = WorkoutDefinition(sections: [.init(items: items)])
        try #require(start.definition?.validationError == nil)
        var session = Session(
            key: SessionKey(User("anna")!, SessionID(UUID())), start: start, at: Self.start, now: Self.start)
        var refusals: Set<String> = []
        for item in items {
            for _ in 0...PlanLimits.alternatives {
                do throws(Refusal) {
                    try session.apply(.plan(.swapExercise(item: item.id, alternative: nil)), at: Self.start)
                    try session.apply(.plan(.adjustDifficulty(item: item.id, .harder)), at: Self.start)
                } catch {
                    refusals.insert(error.message)
                }
            }
        }
        let plan = try #require(session.planState(Self.start)?.plan)
        #expect(JSONCoding.encode(plan).count <= PlanLimits.bytes)
        #expect(refusals == ["the plan would be too large: more than \(PlanLimits.bytes / 1_024) KiB"])
    }

    @Test func `the maximum of saved plans fits a payload`() throws {
        // A definition takes at most its share of the total, in its published form.
        let definition = Self.definition()
        #expect(JSONCoding.encode(definition).count <= 2 * PlanLimits.bytes)
        let plan = SavedPlans.Plan(plan: PlanID(UUID()), savedAt: Self.start, definition: definition)
        let frame = JSONCoding.encode(plan).count - JSONCoding.encode(definition).count
        let empty = JSONCoding.encode(SavedPlans(revision: .max, plans: [])).count
        #expect(SavedPlans.bytes + SavedPlans.limit * (frame + 1) + empty <= Self.room)
    }
}
