import Bus
import TestSupport
import Workouts

@testable import Formats

/// A planned workout performed command by command. The exporter receives its record, without measurements.
struct PlannedRecording {
    static let begin = Timestamp(seconds: 1_700_000_000.25)

    private(set) var session: Session

    /// - Parameter definition: the JSON of a plan file.
    init(_ definition: String) throws {
        self.init(try WorkoutDefinition(file: definition.utf8))
    }

    init(_ definition: WorkoutDefinition) {
        var start = SessionStart(activity: definition.activity, countdown: 0, timeZone: "Europe/Berlin")
        start.definition = definition
        session = Session(
            key: SessionKey(User("anna")!, SessionID("0b7ac6a5-64bd-4e2d-8f12-0d3f5a1c9e77")!), start: start,
            at: Self.begin, now: Self.begin)
    }

    /// - Parameter offset: seconds since the start.
    mutating func at(_ offset: Double, _ action: SessionAction) throws {
        try session.apply(action, at: Self.begin + offset)
    }

    mutating func complete(
        _ item: String? = nil, at offset: Double, repetitions: Int? = nil, weight: Double? = nil, time: Double? = nil
    ) throws {
        let completion = SetCompletion(
            SetReference(item: item), repetitions: repetitions, weight: weight, time: time)
        try at(offset, .plan(.completeSet(completion)))
    }

    mutating func pause(_ offsets: ClosedRange<Double>) throws {
        try at(offsets.lowerBound, .pause)
        try at(offsets.upperBound, .resume)
    }

    /// The exporter's input if the workout ends at this time.
    func ended(at offset: Double) throws -> ExportedWorkout {
        var session = session
        try session.apply(.end(streams: [:]), at: Self.begin + offset)
        let record = WorkoutRecord(session, metrics: nil, isComplete: true, revision: 1)
        // Encoded and decoded as on the bus.
        let received = try JSONCoding.decode(WorkoutRecord.self, from: JSONCoding.encode(record))
        return ExportedWorkout(
            workout: received, series: Series(times: [], columns: []), track: Track(times: [], columns: []))
    }
}

extension PlannedRecording {
    /// Two exercises of one category and one without a category, with rests, a time and loads.
    static let strength = """
        {"name":"Legs","focus":["strength"],"sections":[
          {"items":[
            {"id":"squat","name":"Back squat","exercise":"squat","sets":[
              {"repetitions":5,"weight":100,"rest":60},{"repetitions":5,"weight":102.5,"rest":60}],
             "alternatives":[{"name":"Leg press"},{"name":"Goblet squat","exercise":"squat"}]},
            {"id":"front","name":"Front squat","exercise":"squat","sets":[{"repetitions":8,"weight":60,"rest":30}]},
            {"id":"carry","name":"Farmer's walk 🏋️","sets":[{"time":40,"weight":24,"rest":30}]},
            {"id":"plank","name":"Plank","exercise":"plank","sets":[{"time":30}]}]}]}
        """

    static let emom = """
        {"focus":["conditioning"],"timer":{"type":"emom","rounds":4},"sections":[
          {"items":[{"id":"swing","name":"Kettlebell swing","sets":[{"repetitions":15,"weight":24}]},
                    {"id":"push","name":"Push-up","exercise":"pushUp","sets":[{"repetitions":12}]}]}]}
        """

    static let amrap = """
        {"focus":["conditioning"],"timer":{"type":"amrap","cap":300},"sections":[
          {"items":[{"id":"pull","name":"Pull-up","exercise":"pullUp","sets":[{"repetitions":5}]},
                    {"id":"push","name":"Push-up","exercise":"pushUp","sets":[{"repetitions":10}]}]}]}
        """

    static let intervals = """
        {"name":"4 x 400","focus":["running"],"sections":[
          {"name":"Warm-up","timer":{"type":"countdown","work":300},"items":[{"name":"Easy"}]},
          {"timer":{"type":"interval","work":90,"rest":60,"rounds":4},"items":[{"id":"fast","name":"400 m"}]},
          {"name":"Cool-down","timer":{"type":"countdown","work":120},"items":[{"name":"Easy"}]}]}
        """

    /// Sets with a pause in one of them, a swapped exercise, and more and fewer repetitions than planned.
    static func strengthDone() throws -> ExportedWorkout {
        var run = try PlannedRecording(strength)
        try run.complete(at: 40)
        try run.pause(110...130)
        try run.at(135, .plan(.swapExercise(item: "squat", alternative: "Leg press")))
        try run.complete(at: 145.5, repetitions: 4, weight: 97.5)
        try run.complete(at: 250, repetitions: 12, weight: 50)
        try run.complete(at: 330)
        try run.complete(at: 370, time: 35)
        return try run.ended(at: 380)
    }
}
