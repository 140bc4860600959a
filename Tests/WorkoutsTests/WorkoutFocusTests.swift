import Foundation
import Testing
import Workouts

/// The mapping of activity types in the specification of the HealthKit session flow, point 4.
@Suite struct WorkoutFocusTests {
    @Test(
        arguments: [("running", .running), ("rowing", .rowing), ("cycling", .cycling), ("swimming", .swimming)]
            as [(String, Activity)])
    func `a sport that focus or equipment indicate is the activity`(word: String, activity: Activity) {
        for timer in [nil, "stopwatch", "interval", "emom"] {
            #expect(WorkoutFocus(focus: [word], timer: timer).activity == activity)
            #expect(WorkoutFocus(focus: ["conditioning", word], timer: timer).activity == activity)
            #expect(WorkoutFocus(equipment: [word], timer: timer).activity == activity)
            #expect(WorkoutFocus(focus: ["strength"], equipment: ["mat", word], timer: timer).activity == activity)
        }
        #expect(WorkoutFocus(focus: [word.uppercased()]).activity == activity)
    }

    @Test(
        arguments: [
            ("treadmill", .running), ("rower", .rowing), ("bike", .cycling), ("bicycle", .cycling), ("pool", .swimming),
        ] as [(String, Activity)])
    func `equipment that serves one sport indicates it`(word: String, activity: Activity) {
        #expect(WorkoutFocus(equipment: [word]).activity == activity)
    }

    @Test(arguments: ["interval", "emom", "amrap", "EMOM", "AMRAP"])
    func `conditioning against the clock is high-intensity intervals`(timer: String) {
        #expect(WorkoutFocus(focus: ["conditioning"], timer: timer).activity == .hiit)
        #expect(
            WorkoutFocus(focus: ["strength", "Conditioning"], equipment: ["kettlebell"], timer: timer).activity == .hiit
        )
    }

    @Test(arguments: [
        WorkoutFocus(focus: ["conditioning"]), WorkoutFocus(focus: ["conditioning"], timer: "stopwatch"),
        WorkoutFocus(focus: ["conditioning"], timer: "countdown"),
        WorkoutFocus(focus: ["conditioning"], timer: "forTime"),
        WorkoutFocus(focus: ["strength"], timer: "emom"), WorkoutFocus(equipment: ["conditioning"], timer: "amrap"),
        WorkoutFocus(timer: "interval"), WorkoutFocus(timer: "stopwatch"), WorkoutFocus(focus: ["mobility"]),
        WorkoutFocus(equipment: ["barbell"]),
    ])
    func `any other signal is traditional strength training`(focus: WorkoutFocus) {
        #expect(focus.activity == .traditionalStrength)
    }

    @Test(arguments: [
        "{}", #"{"focus":[],"equipment":[]}"#, #"{"timer":{}}"#, #"{"focus":null,"timer":null}"#,
        #"{"name":"running"}"#,
    ])
    func `without a signal it is another activity`(text: String) throws {
        #expect(try JSONDecoder().decode(WorkoutFocus.self, from: Data(text.utf8)).activity == .other)
    }

    @Test func `it is read from a planned workout, whatever else that says`() throws {
        let text =
            #"{"focus":["Conditioning"],"equipment":["kettlebell"],"timer":{"type":"emom","rounds":9},"sections":[]}"#
        #expect(try JSONDecoder().decode(WorkoutFocus.self, from: Data(text.utf8)).activity == .hiit)
    }
}
