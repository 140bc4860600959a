import Bus
import Formats
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// Planned workouts through the real broker, from `start` to a FIT file, with a suspend, a kill of the engine and a
/// resume.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .disabled(
        if: IndependentReader.isAnyMissing, "PYTHON has no fitdecode, fitparse and garmin-fit-sdk"))
struct PlannedWorkoutTests {
    /// An action and its time in seconds since the start. The engine is killed after each suspend.
    private typealias Step = (at: Double, action: SessionAction)

    private static let start = 1_700_000_000.0

    private static func complete(_ item: String, _ set: Int, round: Int = 1, repetitions: Int? = nil) -> SessionAction {
        .plan(.completeSet(SetCompletion(SetReference(item: item, set: set, round: round), repetitions: repetitions)))
    }

    @Test func `strength: the file has sets, repetitions, loads, rests and a swap`() async throws {
        let definition = WorkoutDefinition(
            name: "Upper Body", focus: ["strength"], equipment: ["barbell"],
            sections: [
                WorkoutDefinition.Section(items: [
                    .init(
                        id: "bench", name: "Bench Press", exercise: .benchPress,
                        sets: [PlannedSet](repeating: PlannedSet(repetitions: 8, weight: 62.5, rest: 90), count: 2)),
                    .init(
                        id: "row", name: "Barbell Row", exercise: .row,
                        sets: [PlannedSet](repeating: PlannedSet(repetitions: 10, weight: 40, rest: 60), count: 2),
                        alternatives: [PlannedExercise(name: "Inverted Row", exercise: .row)]),
                ])
            ])
        let steps: [Step] = [
            (40, Self.complete("bench", 0)), (170, Self.complete("bench", 1, repetitions: 6)), (180, .suspend),
            (1_180, .resume), (1_300, Self.complete("row", 0)),
            (1_310, .plan(.swapExercise(item: "row", alternative: nil))),
            (1_400, Self.complete("row", 1)), (1_410, .end(streams: [:])),
        ]
        let done = try await perform(definition, steps)
        #expect(done.workout.activity == .traditionalStrength)
        #expect(done.workout.activeDuration == 410)
        for (reader, file) in done.files where reader != "fitparse" {
            let active = file.sets.filter { $0.kind == "active" }
            #expect(
                active.map { file.title(of: $0) } == ["Bench Press", "Bench Press", "Barbell Row", "Inverted Row"],
                "\(reader)")
            #expect(active.map(\.repetitions) == [8, 6, 10, 10], "\(reader)")
            #expect(active.map(\.weight) == [62.5, 62.5, 40, 40], "\(reader)")
            #expect(active.map(\.duration) == [40, 40, 40, 40], "\(reader)")
            #expect(file.sets.filter { $0.kind == "rest" }.map(\.duration) == [90, 90, 60], "\(reader)")
        }
    }

    @Test func `EMOM: each minute is a set of its exercise, then rest`() async throws {
        let definition = WorkoutDefinition(
            name: "EMOM 6", focus: ["conditioning"], equipment: ["kettlebell"],
            sections: [
                WorkoutDefinition.Section(
                    timer: TimerConfiguration(.emom, rounds: 6),
                    items: [
                        .init(id: "swing", name: "Kettlebell Swing", sets: [PlannedSet(repetitions: 15, weight: 24)]),
                        .init(id: "push-up", name: "Push-up", exercise: .pushUp, sets: [PlannedSet(repetitions: 12)]),
                    ])
            ])
        let steps: [Step] = [
            (40, Self.complete("swing", 0, round: 1)), (150, .suspend), (400, .resume), (650, .end(streams: [:])),
        ]
        let done = try await perform(definition, steps)
        #expect(done.workout.activity == .hiit)
        #expect(done.workout.rounds?.count == 6)
        for (reader, file) in done.files where reader != "fitparse" {
            let active = file.sets.filter { $0.kind == "active" }
            #expect(
                active.map { file.title(of: $0) }
                    == Array(repeating: ["Kettlebell Swing", "Push-up"], count: 3).flatMap(\.self), "\(reader)")
            #expect(active.map(\.duration) == [40, 60, 60, 60, 60, 60], "\(reader)")
            #expect(active.map(\.repetitions) == [15, nil, nil, nil, nil, nil], "\(reader)")
            // The rest of the first minute.
            #expect(file.sets.filter { $0.kind == "rest" }.map(\.duration) == [20], "\(reader)")
            // The third minute stopped after 30 s and continued after 250 s.
            #expect(active[2].end - active[2].start == 310, "\(reader)")
        }
    }

    @Test func `AMRAP: completed rounds count, and the cap ends it`() async throws {
        let definition = WorkoutDefinition(
            name: "AMRAP 5", focus: ["conditioning"],
            sections: [
                WorkoutDefinition.Section(
                    timer: TimerConfiguration(.amrap, cap: 300),
                    items: [
                        .init(id: "squat", name: "Air Squat", exercise: .squat, sets: [PlannedSet(repetitions: 15)]),
                        .init(id: "sit-up", name: "Sit-up", exercise: .sitUp, sets: [PlannedSet(repetitions: 10)]),
                    ])
            ])
        let steps: [Step] = [
            (40, Self.complete("squat", 0)), (70, Self.complete("sit-up", 0)), (100, .suspend), (700, .resume),
            (740, Self.complete("squat", 0, round: 2)), (780, Self.complete("sit-up", 0, round: 2)),
            (820, Self.complete("squat", 0, round: 3)), (910, .end(streams: [:])),
        ]
        let done = try await perform(definition, steps)
        #expect(done.workout.activity == .hiit)
        #expect(done.workout.rounds?.map(\.number) == [1, 2])
        #expect(done.workout.progress?.done == 2)
        for (reader, file) in done.files where reader != "fitparse" {
            let active = file.sets.filter { $0.kind == "active" }
            #expect(active.map(\.repetitions) == [15, 10, 15, 10, 15], "\(reader)")
            #expect(active.map(\.duration) == [40, 30, 70, 40, 40], "\(reader)")
            #expect(active.map(\.category) == ["squat", "sit_up", "squat", "sit_up", "squat"], "\(reader)")
        }
    }

    @Test func `intervals: the file has a run's work and rest as timed`() async throws {
        let definition = WorkoutDefinition(
            name: "3 × 1 min", focus: ["running"],
            sections: [
                WorkoutDefinition.Section(
                    timer: TimerConfiguration(.countdown, work: 120), items: [.init(id: "warm-up", name: "Warm-up")]),
                WorkoutDefinition.Section(
                    timer: TimerConfiguration(.interval, work: 60, rest: 90, rounds: 3),
                    items: [.init(id: "fast", name: "Fast")]),
                WorkoutDefinition.Section(
                    timer: TimerConfiguration(.countdown, work: 60), items: [.init(id: "cool-down", name: "Cool-down")]),
            ])
        let steps: [Step] = [(150, .suspend), (650, .resume), (1_000, .end(streams: [:]))]
        let done = try await perform(definition, steps)
        #expect(done.workout.activity == .running)
        #expect(done.workout.rounds?.map(\.number) == [1, 2, 3])
        #expect(done.workout.progress?.done == 2)
        for (reader, file) in done.files where reader != "fitparse" {
            #expect(
                file.sets.map(\.kind) == ["active", "active", "rest", "active", "rest", "active", "active"], "\(reader)"
            )
            // The cool-down ended after twenty seconds.
            #expect(file.sets.map(\.duration) == [120, 60, 90, 60, 90, 60, 20], "\(reader)")
            #expect(file.sets[1].start == Self.start + 120 && file.sets[1].end == Self.start + 680, "\(reader)")
            let titles = file.sets.filter { $0.kind == "active" }.map { file.title(of: $0) }
            #expect(titles == ["Warm-up", "Fast", "Fast", "Fast", "Cool-down"], "\(reader)")
        }
    }

    private struct Performed {
        let workout: WorkoutRecord
        /// By reader.
        let files: [String: IndependentReader.Summary]
    }

    private func perform(_ definition: WorkoutDefinition, _ steps: [Step]) async throws -> Performed {
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let installation = try await Installation()
        return try await BusObserver.run(port: installation.broker.port) { observer in
            let client = CommandClient(key: key, observer: observer)
            var start = SessionStart(activity: definition.activity, countdown: 0)
            start.definition = definition
            #expect(try await client.perform(.start(start), at: Self.start).ok)
            for step in steps {
                let before = try await plan(key, observer)
                let reply = try await client.perform(step.action, at: Self.start + step.at)
                #expect(reply.ok, "\(reply)")
                guard step.action == .suspend else { continue }
                let suspended = try await plan(key, observer, since: reply.revision ?? 0)
                try installation.kill(.engine)
                // After the kill the engine publishes the stored state.
                let count = observer.count(Topic.session(key, .state).name)
                let isBack = await eventually { observer.count(Topic.session(key, .state).name) > count }
                #expect(isBack)
                #expect(try await plan(key, observer) == suspended)
                #expect(suspended.progress.progress.completed == before.progress.progress.completed)
            }
            let payload = try await observer.wait(for: Topic.session(key, .workout).name)
            let status = try await observer.exported(key)
            let name = try #require(status.files?.first { $0.hasSuffix(".fit") })
            let files = try await IndependentReader.summaries(of: URL(filePath: "\(installation.exports)/\(name)"))
            return Performed(workout: try JSONCoding.decode(WorkoutRecord.self, from: payload), files: files)
        }
    }

    private func plan(_ key: SessionKey, _ observer: BusObserver, since revision: Int64 = 0) async throws -> PlanState {
        let payload = try await observer.wait(for: Topic.session(key, .state).name) { payload in
            (try? SessionState(payload)).map { $0.revision >= revision } ?? false
        }
        return try #require(try PlanState(payload))
    }
}
