import Formats
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Exporter

struct ExportFileTests {
    @Test(arguments: [
        ("Morning Run", "morning-run"), ("  5 × 1,000 m!! ", "5-1-000-m"), ("Läufchen à Orléans", "laufchen-a-orleans"),
        ("朝のラン", "running"), ("", "running"), ("../../etc/passwd", "etc-passwd"), ("a\r\n\0b", "a-b"),
        (String(repeating: "very ", count: 40), "very-very-very-very-very-very-very-very"),
    ])
    func `the name of a workout becomes part of the file name`(name: String, words: String) {
        let workout = ExportedWorkout.named(name).workout
        let file = ExportFile(workout, .gpx)
        #expect(file.path == "anna/2026-11-21T061503Z-\(words)-\(workout.session).gpx")
        #expect(ExportFile(file.path) == file)
    }

    @Test func `names sort by start, and workouts with the same start and name have different names`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededRandom(seed: seed)
        let starts = (0..<200).map { _ in Double(Int.random(in: 946_684_800..<4_102_444_800, using: &random)) }
        let names = Set(starts).sorted().map { start in
            let title = String((0..<5).map { _ in "zebra-019 ".randomElement(using: &random)! })
            return ExportFile(ExportedWorkout.named(title, start: start).workout, .fit).name
        }
        #expect(names == names.sorted(), "seed \(seed)")
        let twins = (0..<2).map { _ in ExportFile(ExportedWorkout.named("Run").workout, .fit).path }
        #expect(twins[0] != twins[1])
    }

    @Test(arguments: [(-4e12, "1970-01-01T000000Z"), (4e12, "9999-12-31T235959Z"), (0.9, "1970-01-01T000000Z")])
    func `any start fits into a name`(start: Double, stamp: String) {
        let file = ExportFile(ExportedWorkout.named("Run", start: start).workout, .fit)
        #expect(file.name.hasPrefix("\(stamp)-run-"))
        #expect(ExportFile(file.path) == file)
    }

    @Test func `a workout without a start has an undated name`() {
        var workout = ExportedWorkout.named("Run").workout
        workout.startedAt = nil
        workout.endedAt = nil
        #expect(ExportFile(workout, .fit).name == "undated-run-\(workout.session).fit")
    }
}

extension ExportedWorkout {
    /// A workout of a new session, by default at 2026-11-21T06:15:03Z.
    static func named(_ name: String, user: String = "anna", start: Double = 1_795_241_703.25) -> ExportedWorkout {
        let at = Timestamp(seconds: start)
        let session = Session(
            key: SessionKey(User(user)!, SessionID(UUID())), start: SessionStart(activity: .running, countdown: 0),
            at: at, now: at)
        var record = WorkoutRecord(session, metrics: nil, isComplete: true, revision: 1)
        record.name = name
        record.startedAt = at
        return ExportedWorkout(workout: record)
    }

    /// The next revision, by default under the same name.
    func revised(_ name: String? = nil) -> ExportedWorkout {
        var record = workout
        record.revision += 1
        record.name = name ?? record.name
        return ExportedWorkout(workout: record)
    }

    private init(workout: WorkoutRecord) {
        self.init(
            workout: workout, series: Series(times: [], columns: []), track: Track(times: [], columns: []))
    }
}
