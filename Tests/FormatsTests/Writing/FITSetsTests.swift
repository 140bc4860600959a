import FIT
import TestSupport
import Testing
import Workouts

@testable import Formats

/// A planned workout in a FIT file.
struct FITSetsTests {
    private func written(_ exported: ExportedWorkout) throws -> [FITMessage] {
        try FITFile(FITExport.bytes(of: exported)).messages
    }

    private func sets(_ exported: ExportedWorkout) throws -> [WrittenSet] { WrittenSet.all(in: try written(exported)) }

    @Test func `the file has the performed sets and rests, without pauses, and swapped exercises by name`()
        throws
    {
        let sets = try sets(PlannedRecording.strengthDone())
        #expect(
            sets == [
                .active(0...40, 40, "Back squat", 28, repetitions: 5, weight: 100), .rest(40...100, 60),
                .active(100...145, 25.5, "Leg press", repetitions: 4, weight: 97.5), .rest(145...205, 60),
                .active(205...250, 44.5, "Front squat", 28, repetitions: 12, weight: 50), .rest(250...290, 40),
                .active(290...330, 40, "Farmer's walk 🏋️", weight: 24), .rest(330...335, 5),
                .active(335...370, 35, "Plank", 19),
            ])
    }

    @Test func `an emom has a set for each of its minutes, reported or not`() throws {
        var run = try PlannedRecording(PlannedRecording.emom)
        try run.complete(at: 30, repetitions: 13)
        try run.pause(70...80)
        try run.complete(at: 110)
        let sets = try sets(run.ended(at: 200))
        #expect(
            sets == [
                .active(0...30, 30, "Kettlebell swing", repetitions: 13, weight: 24), .rest(30...60, 30),
                .active(60...110, 40, "Push-up", 22, repetitions: 12), .rest(110...130, 20),
                .active(130...190, 60, "Kettlebell swing"), .active(190...200, 10, "Push-up", 22),
            ])
    }

    @Test func `an amrap has the sets of its rounds, each exercise under one name`() throws {
        var run = try PlannedRecording(PlannedRecording.amrap)
        for (index, offset) in [20.0, 45, 70, 100, 130].enumerated() {
            try run.complete(at: offset, repetitions: index == 4 ? 3 : nil)
        }
        let exported = try run.ended(at: 300)
        let sets = try sets(exported)
        #expect(
            sets == [
                .active(0...20, 20, "Pull-up", 21, repetitions: 5),
                .active(20...45, 25, "Push-up", 22, repetitions: 10),
                .active(45...70, 25, "Pull-up", 21, repetitions: 5),
                .active(70...100, 30, "Push-up", 22, repetitions: 10),
                .active(100...130, 30, "Pull-up", 21, repetitions: 3),
            ])
        #expect(try written(exported).filter { $0.global == 264 }.count == 2)
    }

    @Test func `an interval run has its warm-up, work, rests and cool-down`() throws {
        let exported = try PlannedRecording(PlannedRecording.intervals).ended(at: 1_000)
        let sets = try sets(exported)
        #expect(
            sets == [
                .active(0...300, 300, "Easy"), .active(300...390, 90, "400 m"), .rest(390...450, 60),
                .active(450...540, 90, "400 m"), .rest(540...600, 60), .active(600...690, 90, "400 m"),
                .rest(690...750, 60), .active(750...840, 90, "400 m"), .active(840...960, 120, "Easy"),
            ])
        #expect(try FITActivity(try FITFile(FITExport.bytes(of: exported))).session.sport == .running)
    }

    @Test func `an exercise that is swapped and swapped back keeps its title`() throws {
        var run = try PlannedRecording(PlannedRecording.strength)
        try run.complete(at: 40)
        try run.at(50, .plan(.swapExercise(item: "squat", alternative: "Goblet squat")))
        try run.complete(at: 120)
        try run.at(125, .plan(.uncompleteSet(SetReference(item: "squat", set: 1))))
        try run.at(126, .plan(.swapExercise(item: "squat", alternative: "Back squat")))
        try run.complete(at: 180)
        let messages = try written(run.ended(at: 200))
        #expect(WrittenSet.all(in: messages).compactMap(\.title) == ["Back squat", "Back squat"])
        #expect(messages.filter { $0.global == 264 }.count == 1)
    }

    @Test func `titles precede the sets, and each set follows earlier messages`() throws {
        var run = try PlannedRecording(PlannedRecording.strength)
        try run.complete(at: 40)
        try run.pause(40...60)
        try run.at(70, .lap)
        try run.complete(at: 130)
        var exported = try run.ended(at: 130)
        exported = ExportedWorkout(
            workout: exported.workout,
            series: Series(
                times: [39, 40, 60, 129, 130].map { PlannedRecording.begin + $0 },
                columns: [.init(quantity: .heartRate, values: [100, 101, 102, 103, 104])]),
            track: Track(times: [], columns: []))
        let messages = try written(exported)
        #expect(
            messages.map(\.global) == [
                0, 49, 23, 264, 21, 20, 20, 21, 225, 21, 20, 225, 20, 20, 21, 225, 19, 18, 34,
            ])
        let times = messages.dropFirst(4).compactMap {
            $0.global == FITProfile.Set.global ? $0.number(FITProfile.Set.timestamp) : $0.timestamp
        }
        #expect(times == times.sorted())
    }

    @Test func `exercises of one category, and those without one, have different numbers`() throws {
        typealias Title = FITProfile.ExerciseTitle
        let titles = try written(PlannedRecording.strengthDone()).filter { $0.global == Title.global }
        #expect(titles.map { $0.integer(Title.category) } == [28, 65_534, 28, 65_534, 19])
        #expect(
            titles.map { $0.text(Title.text) } == [
                "Back squat", "Leg press", "Front squat", "Farmer's walk 🏋️", "Plank",
            ])
        let pairs = titles.map { [$0.integer(Title.category), $0.integer(Title.name)] }
        #expect(Set(pairs).count == 5)
        // FIT defines no names with these numbers, so a reader without titles shows no wrong exercise.
        #expect(titles.allSatisfy { 500..<1_000 ~= $0.integer(Title.name) ?? 0 })
        #expect(titles.map { $0.integer(FITProfile.messageIndex) } == [0, 1, 2, 3, 4])
    }

    @Test func `the sport is that of the activity, and sets do not change the totals`() throws {
        let activity = try FITActivity(try FITFile(FITExport.bytes(of: PlannedRecording.strengthDone())))
        #expect(activity.session.sport == .training && activity.session.subSport == .strength)
        #expect(activity.session.elapsedTime == 380 && activity.session.timerTime == 360)
        #expect(activity.laps.map(\.timerTime) == [360])
    }

    @Test func `a workout without a performed plan has no sets`() throws {
        for exported in [
            try PlannedRecording(PlannedRecording.strength).ended(at: 60),
            FITWorkout.invented(segments: [0...60]).exported(),
        ] {
            #expect(try written(exported).allSatisfy { $0.global != 225 && $0.global != 264 })
        }
    }

    @Test func `a plan with the progress of another gives a file without sets`() throws {
        let sound = try PlannedRecording.strengthDone().workout
        func sets(_ change: (inout WorkoutRecord) -> Void) throws -> Int {
            var record = sound
            change(&record)
            let exported = ExportedWorkout(
                workout: record, series: Series(times: [], columns: []), track: Track(times: [], columns: []))
            return try self.sets(exported).count
        }
        #expect(try sets { _ in } == 9)
        #expect(try sets { $0.plan = nil } == 0)
        #expect(try sets { $0.progress = nil } == 0)
        let other = try PlannedRecording(PlannedRecording.emom).ended(at: 60).workout
        #expect(try sets { $0.plan = other.plan } == 0)
        #expect(try sets { $0.segments.reverse() } == 0)
        #expect(try sets { $0.segments[1].end = Timestamp(microseconds: .max) } == 0)
    }
}
