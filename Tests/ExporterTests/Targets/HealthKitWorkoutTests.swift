import Bus
import Testing
import Workouts

@testable import Exporter

/// The workout that a companion app writes to HealthKit.
struct HealthKitWorkoutTests {
    private var workout = ExportMachineRun.workout(7)

    private func value(_ identifier: String, _ statistic: HealthKitWorkout.Quantity.Statistic) -> String? {
        let found = HealthKitWorkout(workout).quantities.first {
            $0.identifier == "HKQuantityTypeIdentifier\(identifier)" && $0.statistic == statistic
        }
        return found.map { "\($0.value) \($0.unit)" }
    }

    @Test func `type, times and pauses are the session's`() throws {
        let written = HealthKitWorkout(workout)
        let start = try #require(workout.startedAt)
        #expect(written.activityType == 37 && written.locationType == .outdoor)
        #expect(written.startDate == start && written.endDate == start + 3600 && written.duration == 3540)
        #expect(
            written.events == [.init(type: .pause, date: start + 600), .init(type: .resume, date: start + 660)])
    }

    @Test mutating func `a pause until the end has no resume, and a pause of no length is left out`() throws {
        let start = try #require(workout.startedAt)
        workout.segments = [
            Segment(start: start, end: start + 10), Segment(start: start + 10, end: start + 20),
        ]
        #expect(HealthKitWorkout(workout).events == [.init(type: .pause, date: start + 20)])
    }

    @Test mutating func `laps are between the pauses, each with its full duration`() throws {
        let start = try #require(workout.startedAt)
        workout.laps = try JSONCoding.decode(
            [MetricsSummary.Lap].self,
            from: """
                [{"startedAt":1799990000,"endedAt":1799991000,"duration":940},
                {"startedAt":1799991000,"endedAt":1799993600,"duration":2600}]
                """.utf8)
        let events = HealthKitWorkout(workout).events
        #expect(events.map(\.type) == [.lap, .pause, .resume, .lap])
        #expect(events.map(\.duration) == [1000, nil, nil, 2600] && events.first?.date == start)
    }

    private static let activities: [(Activity, String?, String?, String?)] = [
        (.running, "DistanceWalkingRunning", "RunningSpeed", "RunningPower"),
        (.walking, "DistanceWalkingRunning", nil, nil), (.hiking, "DistanceWalkingRunning", nil, nil),
        (.cycling, "DistanceCycling", "CyclingSpeed", "CyclingPower"), (.swimming, "DistanceSwimming", nil, nil),
        (.rowing, "DistanceRowing", nil, nil), (.traditionalStrength, nil, nil, nil),
        (.functionalStrength, nil, nil, nil),
    ]

    @Test(arguments: activities)
    mutating func `quantities have the identifiers and units that belong to the activity`(
        activity: Activity, distance: String?, speed: String?, power: String?
    ) {
        workout.activity = activity
        workout.distance = 10_000
        workout.averageSpeed = 2.8
        workout.maximumSpeed = 4
        workout.averagePower = 200
        workout.maximumPower = 400
        let known = HealthKitWorkout(workout).quantities.map(\.identifier)
        let expected = [distance, speed, speed, power, power].compactMap(\.self)
        #expect(known == expected.map { "HKQuantityTypeIdentifier\($0)" })
        if let distance { #expect(value(distance, .sum) == "10000.0 m") }
        if let speed { #expect(value(speed, .average) == "2.8 m/s" && value(speed, .maximum) == "4.0 m/s") }
        if let power { #expect(value(power, .average) == "200.0 W" && value(power, .maximum) == "400.0 W") }
    }

    @Test mutating func `energy, steps and heart rate are present for every activity`() {
        workout.activeEnergy = 640
        workout.steps = 9_000
        workout.averageHeartRate = 148
        workout.maximumHeartRate = 171
        #expect(value("ActiveEnergyBurned", .sum) == "640.0 kcal" && value("StepCount", .sum) == "9000.0 count")
        #expect(value("HeartRate", .average) == "148.0 count/min" && value("HeartRate", .maximum) == "171.0 count/min")
    }

    @Test mutating func `metadata contains the workout, its revision, weather and ascent`() {
        workout.environment = .indoor
        workout.timeZone = "Europe/Berlin"
        workout.ascent = 12.5
        workout.weather = Weather(
            revision: 1, observedAt: Timestamp(seconds: 0), fetchedAt: Timestamp(seconds: 0), temperature: -3.5,
            humidity: 0.75, condition: .clear, provider: "none", attribution: WeatherAttribution(text: "", url: ""))
        let metadata = HealthKitWorkout(workout).metadata
        #expect(metadata.isIndoor && metadata.timeZone == "Europe/Berlin" && metadata.syncVersion == 7)
        #expect(
            metadata.externalUUID == "\(ExportMachineRun.key.session)"
                && metadata.syncIdentifier == "\(ExportMachineRun.key)")
        #expect(metadata.elevationAscended == .init(12.5, unit: "m"))
        #expect(metadata.weatherTemperature == .init(-3.5, unit: "degC"))
        #expect(metadata.weatherHumidity == .init(75, unit: "%"))
    }

    @Test mutating func `the revisions of series and route are present if the workout has them`() {
        workout.summaries = ["metrics": 5, "route": 6]
        #expect(HealthKitWorkout(workout).seriesRevision == 5 && HealthKitWorkout(workout).routeRevision == nil)
        workout.polyline = ["_p~iF~ps|U"]
        #expect(HealthKitWorkout(workout).routeRevision == 6)
    }

    @Test mutating func `the longest workout fits into a payload`() throws {
        let start = try #require(workout.startedAt)
        workout.segments = (0..<Session.segmentLimit).map { number in
            Segment(start: start + Double(number) * 3.000_001, end: start + Double(number) * 3.000_001 + 1.5)
        }
        workout.endedAt = start + 3_600_000
        let laps = (0..<401).map { number in
            #"{"startedAt":\#(1_799_990_000 + number).123456,"endedAt":\#(1_799_990_001 + number).1,"duration":1}"#
        }
        workout.laps = try JSONCoding.decode(
            [MetricsSummary.Lap].self, from: "[\(laps.joined(separator: ","))]".utf8)
        let written = HealthKitWorkout(workout)
        #expect(written.events.count == 999 * 2 + 1 + 401)
        #expect(JSONCoding.encode(written).count < 200 << 10)
    }

    @Test mutating func `a record without times or segments is valid`() {
        workout.startedAt = nil
        workout.endedAt = nil
        workout.segments = []
        #expect(HealthKitWorkout(workout).startDate == HealthKitWorkout(workout).endDate)
    }

    @Test func `a planned workout's payload leaves the plan out`() throws {
        let definition = """
            {"name":"Legs","focus":["strength"],"sections":[{"items":[
              {"id":"squat","name":"Back squat","exercise":"squat","sets":[{"repetitions":5,"weight":100,"rest":60}]}]}]}
            """
        let begin = Timestamp(seconds: 1_700_000_000)
        var start = SessionStart(activity: .traditionalStrength, countdown: 0)
        start.definition = try WorkoutDefinition(file: definition.utf8)
        var session = Session(key: SessionKey(workout.user, workout.session), start: start, at: begin, now: begin)
        try session.apply(.pause, at: begin + 110)
        try session.apply(.resume, at: begin + 130)
        try session.apply(.end(streams: [:]), at: begin + 380)
        let planned = WorkoutRecord(session, metrics: nil, isComplete: true, revision: 1)
        #expect(planned.plan != nil)
        let written = HealthKitWorkout(planned)
        #expect(written.activityType == 50 && written.duration == 360)
        #expect(written.events.map(\.type) == [.pause, .resume])
        var bare = planned
        bare.plan = nil
        bare.progress = nil
        bare.rounds = nil
        #expect(written == HealthKitWorkout(bare))
        #expect(JSONCoding.encode(written).count < 1_024)
    }
}
