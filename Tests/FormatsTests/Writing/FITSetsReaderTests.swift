import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

/// Independent readers read a planned workout.
@Suite(.disabled(if: IndependentReader.isAnyMissing, "PYTHON lacks one of the three FIT readers"))
struct FITSetsReaderTests {
    /// The readers that decode sets. fitparse does not.
    private static let readers = ["fitdecode", "garmin-fit-sdk"]
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func read(_ exported: ExportedWorkout) async throws -> [String: IndependentReader.Summary] {
        let file = URL(filePath: folder.file("planned.fit"))
        try Data(FITExport.bytes(of: exported)).write(to: file)
        return try await IndependentReader.summaries(of: file)
    }

    @Test func `sets find the titles of their exercises, and categories are read as their names`() async throws {
        let read = try await read(PlannedRecording.strengthDone())
        // All times are rounded to whole seconds, including the start.
        let start = PlannedRecording.begin.seconds + 0.75
        for reader in Self.readers {
            let summary = try #require(read[reader])
            let active = summary.sets.filter { $0.kind == "active" }
            #expect(
                active.map(summary.title) == ["Back squat", "Leg press", "Front squat", "Farmer's walk 🏋️", "Plank"],
                "\(reader)")
            #expect(active.map(\.category) == ["squat", "unknown", "squat", "unknown", "plank"], "\(reader)")
            #expect(active.map(\.repetitions) == [5, 4, 12, nil, nil], "\(reader)")
            #expect(active.map(\.weight) == [100, 97.5, 50, 24, nil], "\(reader)")
            #expect(summary.sets.map(\.index) == Array(0..<9), "\(reader)")
            #expect(summary.sets.map { $0.start - start } == [0, 40, 100, 145, 205, 250, 290, 330, 335], "\(reader)")
            #expect(summary.sets.map { $0.end - start } == [40, 100, 145, 205, 250, 290, 330, 335, 370], "\(reader)")
            #expect(summary.sets.map(\.duration) == [40, 60, 25.5, 60, 44.5, 40, 40, 5, 35], "\(reader)")
            #expect(summary.titles.map(\.index) == [0, 1, 2, 3, 4], "\(reader)")
        }
    }

    @Test func `each category is read as its name`() async throws {
        let run = PlannedRecording(
            WorkoutDefinition(
                timer: TimerConfiguration(.interval, work: 10, rounds: ExerciseCategory.allCases.count),
                sections: [
                    .init(items: ExerciseCategory.allCases.map { .init(name: "My \($0)", exercise: $0) })
                ]))
        let read = try await read(run.ended(at: 200))
        for reader in Self.readers {
            let summary = try #require(read[reader])
            let names = summary.sets.compactMap { $0.category?.replacing("_", with: "").lowercased() }
            #expect(names == ExerciseCategory.allCases.map { $0.rawValue.lowercased() }, "\(reader)")
            #expect(summary.sets.compactMap(summary.title) == ExerciseCategory.allCases.map { "My \($0)" }, "\(reader)")
        }
    }

    @Test(arguments: [
        PlannedRecording.strength, PlannedRecording.emom, PlannedRecording.amrap, PlannedRecording.intervals,
    ])
    func `every reader reads a workout without measurements`(definition: String) async throws {
        var run = try PlannedRecording(definition)
        try run.complete(definition == PlannedRecording.intervals ? "fast" : nil, at: 30)
        try run.pause(40...50)
        let exported = try run.ended(at: 100)
        let read = try await read(exported)
        #expect(read.count == 3)
        for (reader, summary) in read {
            try #require(summary.sessions.count == 1, "\(reader)")
            #expect(summary.sessions[0]["total_timer_time"] == 90, "\(reader)")
            #expect(summary.sessions[0]["total_elapsed_time"] == 100, "\(reader)")
            #expect(summary.sessions[0]["total_distance"] == nil, "\(reader)")
            #expect(summary.laps.count == 1 && summary.records.isEmpty, "\(reader)")
            #expect(summary.timer.map(\.type) == ["start", "stop_all", "start", "stop_all"], "\(reader)")
        }
        #expect(!exported.workout.performedSets.isEmpty)
        for reader in Self.readers { #expect(read[reader]?.sets.count == exported.workout.performedSets.count) }
    }
}
