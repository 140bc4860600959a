import Foundation
import Testing
import Workouts

/// The mapping of activity types in point 4 of the specification of the HealthKit session flow.
@Suite struct WorkoutActivityTests {
    private typealias Kind = TimerConfiguration.Kind

    /// - Parameters:
    ///   - timer: of the whole workout.
    ///   - section: of its second section.
    private static func workout(
        _ focus: [String]? = nil, equipment: [String]? = nil, timer: TimerConfiguration.Kind? = nil,
        section: TimerConfiguration.Kind? = nil
    ) -> WorkoutDefinition {
        let item = WorkoutDefinition.Item(name: "Running on the spot")
        return WorkoutDefinition(
            name: "Swimming", focus: focus, equipment: equipment, timer: timer.map { TimerConfiguration($0) },
            sections: [
                .init(name: "Rowing", items: [item]),
                .init(timer: section.map { TimerConfiguration($0) }, items: [item]),
            ])
    }

    @Test(
        arguments: [("running", .running), ("rowing", .rowing), ("cycling", .cycling), ("swimming", .swimming)]
            as [(String, Activity)])
    func `a sport named by focus or equipment is the activity`(word: String, activity: Activity) {
        for timer in [nil, Kind.stopwatch, .interval, .emom] {
            #expect(Self.workout([word], timer: timer).activity == activity)
            #expect(Self.workout(["conditioning", word], timer: timer).activity == activity)
            #expect(Self.workout(["conditioning", word], section: timer).activity == activity)
            #expect(Self.workout(equipment: [word], timer: timer).activity == activity)
            #expect(Self.workout(["strength"], equipment: ["mat", word], timer: timer).activity == activity)
        }
        #expect(Self.workout([word.uppercased()]).activity == activity)
        #expect(Self.workout(["easy \(word)"]).activity == activity)
    }

    @Test(
        arguments: [
            ("treadmill", .running), ("rower", .rowing), ("bike", .cycling), ("bicycle", .cycling), ("pool", .swimming),
            ("Rowing machine", .rowing), ("stationary-bike", .cycling), ("seated row machine", .traditionalStrength),
        ] as [(String, Activity)])
    func `equipment of a single sport implies it`(word: String, activity: Activity) {
        #expect(Self.workout(equipment: [word]).activity == activity)
    }

    @Test(arguments: [TimerConfiguration.Kind.interval, .emom, .amrap])
    func `conditioning against the clock is high-intensity intervals`(timer: TimerConfiguration.Kind) {
        #expect(Self.workout(["conditioning"], timer: timer).activity == .hiit)
        #expect(Self.workout(["conditioning"], section: timer).activity == .hiit)
        #expect(Self.workout(["conditioning"], timer: .stopwatch, section: timer).activity == .hiit)
        #expect(Self.workout(["metabolic conditioning"], timer: timer).activity == .hiit)
        #expect(Self.workout(["strength", "Conditioning"], equipment: ["kettlebell"], timer: timer).activity == .hiit)
    }

    @Test(arguments: [
        workout(["conditioning"]), workout(["conditioning"], timer: .stopwatch),
        workout(["conditioning"], timer: .countdown), workout(["conditioning"], timer: .forTime),
        workout(["strength"], timer: .emom), workout(equipment: ["conditioning"], timer: .amrap),
        workout(timer: .interval), workout(section: .interval), workout(timer: .stopwatch), workout(["mobility"]),
        workout(equipment: ["barbell"]),
    ])
    func `any other word or timer is traditional strength training`(workout: WorkoutDefinition) {
        #expect(workout.activity == .traditionalStrength)
    }

    @Test func `without words and timers the activity is other whatever the names are`() {
        #expect(Self.workout().activity == .other)
        #expect(Self.workout([], equipment: []).activity == .other)
    }

    @Test func `a planned workout's activity is decoded from its payload`() throws {
        let text =
            #"{"focus":["Conditioning"],"equipment":["kettlebell"],"timer":{"type":"emom","rounds":9},"sections":[]}"#
        #expect(try JSONDecoder().decode(WorkoutDefinition.self, from: Data(text.utf8)).activity == .hiit)
    }
}
