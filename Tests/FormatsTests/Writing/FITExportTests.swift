import FIT
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

struct FITExportTests {
    private let start = 1_700_000_000.0

    private func written(_ exported: ExportedWorkout) throws -> [FITMessage] {
        try FITFile(FITExport.bytes(of: exported)).messages
    }

    private func read(_ exported: ExportedWorkout) throws -> FITActivity {
        try FITActivity(try FITFile(FITExport.bytes(of: exported)))
    }

    /// The only message of its kind.
    private func only(_ global: UInt16, of exported: ExportedWorkout) throws -> FITMessage {
        let found = try written(exported).filter { $0.global == global }
        try #require(found.count == 1)
        return found[0]
    }

    /// The records of points, each at so many seconds since the start.
    private func recorded(
        _ points: [(Double, [Quantity: Double])], by activity: Activity = .running
    ) throws -> [FITActivity.Record] {
        var workout = FITWorkout(activity: activity)
        workout.segments = [Segment(start: Timestamp(seconds: start), end: Timestamp(seconds: start + 60))]
        workout.samples = points.map { offset, values in
            var sample = Sample(time: Timestamp(seconds: start + offset))
            for (quantity, value) in values { sample[quantity] = value }
            return sample
        }
        return try read(workout.exported()).records
    }

    @Test func `messages are in order of time, around each pause and at the end as devices write them`() throws {
        var workout = FITWorkout.invented(segments: [0...2, 5...7])
        workout.laps = [workout.segments[0].start + 1]
        let messages = try written(
            workout.exported { record in
                record.weather = .invented(fetchedAt: self.start + 6)
            })
        let (event, record, lap, weather) = (UInt16(21), UInt16(20), UInt16(19), UInt16(128))
        #expect(
            messages.map(\.global) == [
                0, 49, 23, event, record, record, lap, record, event, event, record, record, weather, record, event,
                lap,
                18, 34,
            ])
        let times = messages.dropFirst(3).compactMap(\.timestamp)
        #expect(times.count == messages.count - 3)
        #expect(times == times.sorted())
        #expect(times.last == start + 7)
    }

    @Test func `pauses are a stop of all and a start`() throws {
        let activity = try read(FITWorkout.invented(segments: [0...10, 20...30, 50...60]).exported())
        #expect(activity.timerEvents.map(\.time) == [0, 10, 20, 30, 50, 60].map { start + $0 })
        #expect(activity.timerEvents.map(\.kind) == [.start, .stopAll, .start, .stopAll, .start, .stopAll])
    }

    @Test func `totals are the workout's`() throws {
        let exported = FITWorkout.invented(segments: [0...100, 150...200]).exported { record in
            record.distance = 5_012.34
            record.activeEnergy = 317.4
            record.averageSpeed = 3.417
            record.maximumSpeed = 4.385
            record.averageHeartRate = 137.46
            record.maximumHeartRate = 162
            record.averageCadence = 165.5
            record.averagePower = 210
            record.maximumPower = 444
            record.ascent = 81
            record.descent = 79
            record.steps = 1_998
            record.name = "Morning run"
            record.exertion = 6
        }
        let session = try read(exported).session
        #expect(session.start == start)
        #expect(session.elapsedTime == 200)
        #expect(session.timerTime == 150)
        #expect(session.distance == 5_012.34)
        #expect(session.calories == 317)
        #expect(session.averageSpeed == 3.417 && session.maximumSpeed == 4.385)
        #expect(session.averageHeartRate == 137 && session.maximumHeartRate == 162)
        #expect(session.averageCadence == 82)
        #expect(session.averagePower == 210 && session.maximumPower == 444)
        #expect(session.ascent == 81 && session.descent == 79)
        let message = try only(18, of: exported)
        #expect(message.number(FITProfile.Session.averageFractionalCadence) == 0.75)
        #expect(message.number(FITProfile.Session.cycles) == 999)
        #expect(message.text(FITProfile.Session.name) == "Morning run")
        #expect(message.number(FITProfile.Session.exertion) == 60)
        #expect(abs((session.startLatitude ?? 0) - 52) < 0.001)
        #expect(abs((session.startLongitude ?? 0) - 13) < 1e-7)
    }

    @Test func `a value that was not measured is absent, not zero`() throws {
        let workout = FITWorkout.invented(segments: [0...10], quantities: [.distance], withLocations: false)
        let activity = try read(workout.exported())
        #expect(activity.session.averageHeartRate == nil && activity.session.averagePower == nil)
        #expect(activity.session.calories == nil && activity.session.ascent == nil)
        for record in activity.records {
            #expect(record.distance != nil && record.heartRate == nil && record.latitude == nil && record.speed == nil)
        }
    }

    @Test(arguments: [(Activity.running, 85.75), (.walking, 85.75), (.hiking, 85.75), (.cycling, 171.5)])
    func `cadence on foot is in strides, with a separate fraction`(
        activity: Activity, cadence: Double
    ) throws {
        #expect(try recorded([(0, [.cadence: 171.5])], by: activity).map(\.cadence) == [cadence])
        #expect(try recorded([(0, [.cadence: 1_000])], by: activity)[0].cadence ?? 0 >= 254)
    }

    @Test func `points of one second become one record with the values of all`() throws {
        let records = try recorded([
            (0.1, [.heartRate: 150, .power: 210, .temperature: 20]), (0.4, [.speed: 3]),
            (0.9, [.heartRate: 149, .distance: 2, .power: 230]), (1, [.distance: 3]), (1.5, [.heartRate: 152]),
        ])
        #expect(records.map(\.time) == [start, start + 1])
        #expect(records.map(\.heartRate) == [150, 152])
        #expect(records.map(\.distance) == [2, 5])
        #expect(records.map(\.speed) == [3, nil])
        #expect(records.map(\.power) == [230, nil])
        #expect(records.map(\.temperature) == [20, nil])
    }

    @Test func `every second with a heart rate has a record with one`() throws {
        var random = SeededRandom()
        for _ in 0..<50 {
            let points = (0..<300).map { _ in Double.random(in: 0...60, using: &random) }.sorted().map { offset in
                (offset, [Bool.random(using: &random) ? Quantity.heartRate : .power: 140.0])
            }
            let seconds = Set(points.filter { $0.1[.heartRate] != nil }.map { Int($0.0) })
            let records = try recorded(points)
            #expect(records.filter { $0.heartRate != nil }.count == seconds.count)
            #expect(Set(records.map(\.time)).count == records.count)
        }
    }

    @Test func `laps are the workout's`() throws {
        var workout = FITWorkout.invented(segments: [0...100, 150...200])
        workout.laps = [workout.segments[0].start + 60]
        let exported = workout.exported()
        let laps = try read(exported).laps
        #expect(laps.map(\.start) == [start, start + 60])
        #expect(laps.map(\.elapsedTime) == [60, 140])
        #expect(laps.map(\.timerTime) == [60, 90])
        for (lap, original) in zip(laps, exported.workout.laps) {
            #expect(abs((lap.distance ?? 0) - (original.distance ?? -1)) <= 0.005)
            #expect(lap.averageHeartRate == original.averageHeartRate?.rounded())
            #expect(lap.maximumHeartRate == original.maximumHeartRate)
        }
        let messages = try written(exported).filter { $0.global == FITProfile.Lap.global }
        for (message, original) in zip(messages, exported.workout.laps) {
            let cadence = try #require(exported.workout.activity.cadenceInFiles(original.averageCadence))
            #expect(message.integer(FITProfile.Lap.averageCadence) == Int(cadence))
            #expect(message.integer(FITProfile.Lap.averagePower) == original.averagePower.map { Int($0.rounded()) })
        }
        #expect(try only(18, of: exported).integer(FITProfile.Session.laps) == 2)
    }

    @Test func `without laps one lap covers the workout`() throws {
        let exported = FITWorkout.invented(segments: [0...100, 150...200]).exported()
        let activity = try read(exported)
        try #require(activity.laps.count == 1)
        #expect(activity.laps[0].start == start)
        #expect(activity.laps[0].elapsedTime == 200 && activity.laps[0].timerTime == 150)
        #expect(activity.laps[0].distance == activity.session.distance)
        #expect(try only(18, of: exported).integer(FITProfile.Session.laps) == 1)
    }

    @Test(arguments: [("Europe/Berlin", 3_600.0), ("America/St_Johns", -12_600), ("UTC", 0)])
    func `the local time is that of the workout's time zone`(zone: String, offset: Double) throws {
        let message = try only(
            34, of: FITWorkout.invented(segments: [0...10]).exported { $0.timeZone = zone })
        #expect(message.timestamp == start + 10)
        #expect(message.number(FITProfile.Activity.localTimestamp) == start + 10 + offset)
        #expect(message.number(FITProfile.Activity.timerTime) == 10)
    }

    @Test(arguments: [nil, "Mars/Olympus"])
    func `without a known time zone there is no local time`(zone: String?) throws {
        let message = try only(
            34, of: FITWorkout.invented(segments: [0...10]).exported { $0.timeZone = zone })
        #expect(message.number(FITProfile.Activity.localTimestamp) == nil)
    }

    @Test func `the weather message has the time of its fetch, within the session`() throws {
        typealias Field = FITProfile.WeatherConditions
        for (fetchedAt, time) in [(-100.0, 0.0), (5, 5), (900, 10)] {
            let exported = FITWorkout.invented(segments: [0...10]).exported { record in
                record.weather = .invented(fetchedAt: self.start + fetchedAt)
            }
            let message = try only(128, of: exported)
            #expect(message.timestamp == start + time)
            #expect(message.number(Field.observed) == start - 700)
            #expect(message.number(Field.temperature) == -4)
            #expect(message.number(Field.apparentTemperature) == -9)
            #expect(message.number(Field.humidity) == 83)
            #expect(message.number(Field.windSpeed) == 5.25)
            #expect(message.integer(Field.condition) == 19)
            #expect(message.integer(Field.report) == 0)
        }
        #expect(try written(FITWorkout.invented(segments: [0...10]).exported()).allSatisfy { $0.global != 128 })
    }

    @Test func `a place on the 180th meridian keeps its longitude`() throws {
        var workout = FITWorkout.invented(segments: [0...2], withLocations: false)
        workout.locations = workout.samples.compactMap(\.time).map { Location(time: $0, latitude: -17, longitude: 180) }
        let records = try read(workout.exported()).records
        #expect(records.map(\.longitude) == [-180, -180, -180])
    }

    @Test func `all revisions of a workout have one identity, and other workouts have others`() throws {
        let workout = FITWorkout.invented(segments: [0...10])
        let first = try only(0, of: workout.exported())
        let revised = try only(
            0,
            of: workout.exported {
                $0.revision += 1
                $0.name = "Other"
                $0.distance = 1
            })
        let other = try only(0, of: workout.exported { $0.session = SessionID(UUID()) })
        #expect(first == revised)
        #expect(first.fields != other.fields)
        #expect(first.integer(FITProfile.FileID.type) == 4)
        #expect(first.number(FITProfile.FileID.created) == start)
        #expect(FITExport.bytes(of: workout.exported()) == FITExport.bytes(of: workout.exported()))
    }

    @Test func `a workout without points is a valid recording`() throws {
        let activity = try read(FITWorkout.invented(segments: [0...100], quantities: []).exported())
        #expect(activity.session.elapsedTime == 100)
        let empty = FITWorkout(segments: [
            Segment(start: Timestamp(seconds: start), end: Timestamp(seconds: start + 60))
        ])
        #expect(try read(empty.exported()).records.isEmpty)
        #expect(try read(empty.exported()).activeSegments == [start...start + 60])
    }
}

extension Weather {
    fileprivate static func invented(fetchedAt: Double) -> Weather {
        Weather(
            revision: 1, observedAt: Timestamp(seconds: 1_699_999_300), fetchedAt: Timestamp(seconds: fetchedAt),
            temperature: -4.2, apparentTemperature: -9.3, humidity: 0.83, windSpeed: 5.25, condition: .heavySnow,
            provider: "open-meteo", attribution: WeatherAttribution(text: "Open-Meteo", url: "https://open-meteo.com"))
    }
}
