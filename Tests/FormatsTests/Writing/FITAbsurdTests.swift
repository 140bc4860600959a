import FIT
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

/// Any record and any points give a valid file.
struct FITAbsurdTests {
    @Test func `any values give a readable file`() throws {
        var random = SeededRandom()
        for _ in 0..<Tier.runs(300, nightly: 1_500) {
            let exported = random.absurdWorkout()
            let messages = try FITFile(FITExport.bytes(of: exported)).messages
            #expect(messages.filter { $0.global == 18 }.count == 1)
            #expect(messages.filter { $0.global == 34 }.count == 1)
            #expect(messages.filter { $0.global == 21 }.count == exported.workout.segments.count * 2)
            #expect(messages.filter { $0.global == 19 }.count == max(1, exported.workout.laps.count))
        }
    }

    @Test func `ten thousand segments give a readable file`() throws {
        var random = SeededRandom()
        let segments = random.segments(10_000, from: Timestamp(seconds: 1_700_000_000))
        let activity = try FITActivity(
            try FITFile(FITExport.bytes(of: FITWorkout(segments: segments).exported())))
        #expect(activity.timerEvents.count == 20_000)
        let active = activity.activeSegments.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
        #expect(abs(active - segments.activeDuration()) <= 1)
    }
}

extension SeededRandom {
    private mutating func absurdNumber() -> Double {
        let magnitude = Double.random(in: -1e3...1e3, using: &self)
        return [
            0, -0.0, 1, -1, 254, 255, 65_535, 4_294_967_295, 1e9, -1e9, 1e300, -1e300, .nan, .infinity, -.infinity,
            .leastNonzeroMagnitude, .greatestFiniteMagnitude, magnitude, magnitude, magnitude,
        ].randomElement(using: &self)!
    }

    private mutating func absurdValue() -> Double? { Bool.random(using: &self) ? absurdNumber() : nil }

    private mutating func absurdTime() -> Timestamp {
        let near = 1_700_000_000_000_000 + Int64.random(in: -5_000_000...5_000_000, using: &self)
        return Timestamp(
            microseconds: [
                .min, .min + 1, .max, .max - 1, 0, -1, 1, 631_065_600_000_000, 631_065_599_999_999,
                4_926_032_895_000_000, 7_258_118_400_000_000, near, near, near, near, near,
            ].randomElement(using: &self)!)
    }

    private mutating func absurdValues(_ count: Int) -> [Double?] { (0..<count).map { _ in absurdValue() } }

    /// Times are in order or not.
    private mutating func absurdTimes() -> [Timestamp] {
        let times = (0..<Int.random(in: 0...20, using: &self)).map { _ in absurdTime() }
        return Bool.random(using: &self) ? times.sorted() : times
    }

    mutating func absurdWorkout() -> ExportedWorkout {
        var laps = FITWorkout.invented(segments: [0...10])
        laps.laps = (0..<Int.random(in: 0...3, using: &self)).map { laps.segments[0].start + Double($0) }
        var workout = laps.exported().workout
        workout.activity = Activity.allCases.randomElement(using: &self)!
        workout.environment = Environment.allCases.randomElement(using: &self)!
        workout.name = String(
            repeating: ["a", "é", "\0", "👨‍👩‍👧‍👦", "e\u{301}"].randomElement(using: &self)!,
            count: Int.random(in: 0...300, using: &self))
        workout.timeZone = [nil, "Europe/Berlin", "", "nowhere"].randomElement(using: &self)!
        workout.startedAt = Bool.random(using: &self) ? absurdTime() : nil
        workout.endedAt = Bool.random(using: &self) ? absurdTime() : nil
        workout.segments = (0..<Int.random(in: 0...6, using: &self)).map { _ in
            Segment(start: absurdTime(), end: Bool.random(using: &self) ? absurdTime() : nil)
        }
        for index in workout.laps.indices {
            workout.laps[index].startedAt = absurdTime()
            workout.laps[index].endedAt = absurdTime()
            workout.laps[index].duration = absurdNumber()
            workout.laps[index].distance = absurdValue()
            workout.laps[index].averageHeartRate = absurdValue()
        }
        workout.activeDuration = absurdNumber()
        workout.elapsedDuration = absurdNumber()
        for total in [
            \WorkoutRecord.distance, \.activeEnergy, \.averageHeartRate, \.maximumHeartRate, \.averageSpeed,
            \.maximumSpeed, \.averageCadence, \.averagePower, \.maximumPower, \.steps, \.ascent, \.descent,
        ] {
            workout[keyPath: total] = absurdValue()
        }
        if Bool.random(using: &self) {
            workout.weather = Weather(
                revision: 1, observedAt: absurdTime(), fetchedAt: absurdTime(), temperature: absurdNumber(),
                apparentTemperature: absurdValue(), humidity: absurdValue(), windSpeed: absurdValue(),
                condition: WeatherCondition.allCases.randomElement(using: &self)!, provider: "",
                attribution: WeatherAttribution(text: "", url: ""))
        }
        let (measured, located) = (absurdTimes(), absurdTimes())
        return ExportedWorkout(
            workout: workout,
            series: Series(
                times: measured,
                columns: Quantity.allCases.map { .init(quantity: $0, values: absurdValues(measured.count)) }),
            track: Track(
                times: located,
                columns: Track.Kind.allCases.map { .init(kind: $0, values: absurdValues(located.count)) }))
    }
}
