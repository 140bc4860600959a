import FIT
import TestSupport
import Testing
import Workouts

@testable import Formats

/// `device replay` of an exported file gives the same workout.
struct FITReplayTests {
    /// The records of the measured workout and of its replayed export.
    private func replay(_ workout: FITWorkout) throws -> (original: WorkoutRecord, replayed: WorkoutRecord) {
        let original = workout.exported()
        return (original.workout, try FITWorkout(replaying: FITExport.bytes(of: original)).exported().workout)
    }

    /// - Parameter tolerance: seconds for the segments' bounds.
    private func expectSame(_ workout: FITWorkout, tolerance: Double = 0) throws {
        let (original, replayed) = try replay(workout)
        #expect(replayed.activity == original.activity)
        #expect(replayed.environment == original.environment)
        try #require(replayed.segments.count == original.segments.count)
        for (replayed, original) in zip(replayed.segments, original.segments) {
            #expect(abs(replayed.start.seconds(since: original.start)) <= tolerance)
            #expect(try abs(#require(replayed.end).seconds(since: #require(original.end))) <= tolerance)
        }
        #expect(abs(replayed.activeDuration - original.activeDuration) <= min(tolerance, 1))
        #expect(abs(replayed.elapsedDuration - original.elapsedDuration) <= min(tolerance, 1))
        expectClose(replayed, original, \.distance, 0.011)
        expectClose(replayed, original, \.activeEnergy, 1)
        expectClose(replayed, original, \.steps, 2)
        expectClose(replayed, original, \.averageHeartRate, 1)
        expectClose(replayed, original, \.maximumHeartRate, 0)
        expectClose(replayed, original, \.averagePower, 1)
        expectClose(replayed, original, \.maximumPower, 0)
        expectClose(replayed, original, \.averageCadence, 0.5)
        // A maximum speed from the route is in the file's totals only.
        guard workout.samples.contains(where: { $0[.speed] != nil }) else { return }
        expectClose(replayed, original, \.maximumSpeed, 0.001)
    }

    private func expectClose(
        _ replayed: WorkoutRecord, _ original: WorkoutRecord, _ value: KeyPath<WorkoutRecord, Double?>,
        _ tolerance: Double
    ) {
        switch (replayed[keyPath: value], original[keyPath: value]) {
        case (nil, nil): break
        case (let replayed?, let original?): #expect(abs(replayed - original) <= tolerance, "\(value)")
        case (let replayed, let original):
            Issue.record("\(value) is \(replayed as Any), not \(original as Any)")
        }
    }

    @Test func `without a pause`() throws {
        try expectSame(.invented(segments: [0...600]))
    }

    @Test func `with several pauses, the first and last as short as a second`() throws {
        for activity in [Activity.running, .cycling] {
            try expectSame(
                .invented(
                    activity, segments: [0...100, 101...150, 300...301, 302...400],
                    quantities: FITWorkout.quantities.filter { $0 != .steps }))
        }
    }

    @Test func `with a device's energy`() throws {
        let workout = FITWorkout.invented(
            segments: [0...100, 120...900], quantities: FITWorkout.quantities + [.activeEnergy])
        try expectSame(workout)
        #expect(try replay(workout).replayed.energySource == .device)
    }

    @Test func `that ends in a pause`() throws {
        var workout = FITWorkout.invented(segments: [0...100, 120...200])
        workout.endedAt = workout.segments[1].end! + 40
        try expectSame(workout)
    }

    @Test func `with laps`() throws {
        var workout = FITWorkout.invented(segments: [0...100, 120...600])
        workout.laps = [60, 110, 400].map { workout.segments[0].start + $0 }
        try expectSame(workout)
    }

    @Test(arguments: [
        (Activity.running, Workouts.Environment.indoor), (.walking, .indoor), (.cycling, .indoor), (.rowing, .indoor),
        (.swimming, .indoor), (.swimming, .outdoor), (.hiking, .outdoor), (.hiking, .indoor), (.walking, .outdoor),
        (.traditionalStrength, .indoor), (.functionalStrength, .indoor), (.hiit, .indoor), (.other, .indoor),
    ])
    func `of any activity, indoors without positions`(activity: Activity, environment: Workouts.Environment) throws {
        let steps: [Quantity] = activity.countsStrides ? [.steps] : []
        try expectSame(
            .invented(
                activity, environment, segments: [0...50, 60...120],
                quantities: [.heartRate, .distance, .speed, .cadence] + steps, withLocations: environment == .outdoor))
    }

    @Test func `without heart rate`() throws {
        try expectSame(.invented(segments: [0...100], quantities: [.distance, .cadence]))
    }

    @Test func `with a distance from the route alone`() throws {
        try expectSame(.invented(segments: [0...300, 320...500], quantities: [.heartRate]))
    }

    @Test func `without measurements`() throws {
        try expectSame(.invented(.hiit, .indoor, segments: [0...300, 320...500], quantities: [], withLocations: false))
    }

    @Test func `with temperatures`() throws {
        let workout = FITWorkout.invented(segments: [0...100])
        let replayed = try FITWorkout(replaying: FITExport.bytes(of: workout.exported()))
        #expect(replayed.samples.map { $0[.temperature] } == workout.samples.map { $0[.temperature] })
    }

    @Test func `places keep their position and accuracy`() throws {
        let workout = FITWorkout.invented(segments: [0...100])
        let replayed = try FITWorkout(replaying: FITExport.bytes(of: workout.exported()))
        try #require(replayed.locations.count == workout.locations.count)
        for (replayed, original) in zip(replayed.locations, workout.locations) {
            #expect(replayed.time == original.time)
            for field in [LocationField.latitude, .longitude] {
                #expect(abs((replayed[field] ?? 0) - (original[field] ?? 0)) < 1e-7)
            }
            #expect(abs((replayed[.altitude] ?? 0) - (original[.altitude] ?? 0)) < 1e-6)
            #expect(replayed[.horizontalAccuracy] == original[.horizontalAccuracy])
        }
    }

    @Test func `with random pauses and fractions of seconds`() throws {
        var random = SeededRandom()
        for _ in 0..<40 {
            var bounds = [0.0]
            for _ in 0..<Int.random(in: 1...8, using: &random) * 2 - 1 {
                bounds.append(bounds[bounds.count - 1] + Double.random(in: 2...200, using: &random))
            }
            let segments = stride(from: 0, to: bounds.count, by: 2).map { bounds[$0]...bounds[$0 + 1] }
            try expectSame(
                .invented(
                    Bool.random(using: &random) ? .running : .cycling,
                    start: 1_700_000_000 + Double.random(in: 0..<1, using: &random), segments: segments,
                    interval: 1, quantities: [.heartRate, .distance, .cadence]),
                tolerance: 1)
        }
    }
}
