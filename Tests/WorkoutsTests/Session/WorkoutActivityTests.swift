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
            ("jog", .running), ("jogging", .running), ("cycle", .cycling), ("cyclist", .cycling), ("Spin", .cycling),
            ("erg", .rowing), ("bike erg", .cycling), ("ski erg", .traditionalStrength),
        ] as [(String, Activity)])
    func `equipment of a single sport implies it`(word: String, activity: Activity) {
        #expect(Self.workout(equipment: [word]).activity == activity)
    }

    @Test(
        arguments: [
            ("treadmill", .indoor), ("Stationary bike", .indoor), ("spin bike", .indoor), ("rowing machine", .indoor),
            ("rower", .indoor), ("erg", .indoor), ("pool", .indoor), ("bike", .outdoor), ("running shoes", .outdoor),
            ("outdoor pool", .outdoor), ("barbell", .indoor), ("indoor cycling", .indoor),
        ] as [(String, Environment)])
    func `the environment follows the equipment, unless the start has one`(word: String, environment: Environment) {
        let definition = Self.workout(equipment: [word])
        func session(_ own: Environment?) -> Session {
            var start = SessionStart(activity: definition.activity, environment: own)
            start.definition = definition
            let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)
            return Session(key: key, start: start, at: year2026, now: year2026)
        }
        #expect(session(nil).environment == environment)
        for own in Environment.allCases { #expect(session(own).environment == own) }
    }

    @Test func `a start with the length of a pool is indoor`() {
        var start = SessionStart(activity: .swimming)
        start.poolLength = 25
        let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)
        let session = Session(key: key, start: start, at: year2026, now: year2026)
        #expect(session.environment == .indoor && session.state(revision: 1).poolLength == 25)
    }

    @Test(arguments: [
        ("Japan", true), ("CET", true), ("GB", true), ("EST5EDT", true), ("Europe/Berlin", true), ("UTC", true),
        ("PST", false), ("GMT+3", false), ("Mars", false), ("Mars/Base", false), ("", false), ("CEST", false),
    ])
    func `names of time zones are those of the IANA database`(name: String, isIANA: Bool) {
        #expect(TimeZone.isIANA(name) == isIANA)
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
