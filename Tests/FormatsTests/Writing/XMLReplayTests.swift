import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

/// A replay of an exported workout gives the same workout, within the limits of the format.
@Suite struct XMLReplayTests {
    private func replayed(_ bytes: [UInt8]) throws -> PlayedWorkout {
        try PlayedWorkout(try #require(Recording(try XMLRecording(Data(bytes)).track)))
    }

    @Test func `TCX keeps distance, active time, pauses and heart rate`() async throws {
        var random = SeededRandom()
        for round in 0..<60 {
            let made = random.workout()
            let played = try PlayedWorkout(made.recording, laps: made.laps)
            let bytes = TCXExport.bytes(of: played.exported)
            if round < 4 { #expect(try await XMLSchema.tcx.validate(bytes) == "") }
            let again = try replayed(bytes)
            #expect(again.workout.segments == played.workout.segments, "round \(round)")
            #expect(abs(again.workout.activeDuration - played.workout.activeDuration) < 0.01)
            #expect(abs((again.workout.distance ?? 0) - (played.workout.distance ?? 0)) < 0.01)
            expectSame(again.workout.averageHeartRate, played.workout.averageHeartRate)
            expectSame(again.workout.maximumHeartRate, played.workout.maximumHeartRate)
            expectSame(again.workout.averagePower, played.workout.averagePower)
            expectSame(again.workout.averageCadence, played.workout.averageCadence)
            let rates = [again, played].map { $0.exported.allPoints.compactMap { $0[.heartRate] } }
            #expect(rates[0] == rates[1])
            #expect(again.exported.allPoints.compactMap(\.place) == played.exported.allPoints.compactMap(\.place))
        }
    }

    @Test func `GPX keeps heart rate, points and segments`() async throws {
        var random = SeededRandom()
        for round in 0..<60 {
            let made = random.workout()
            let played = try PlayedWorkout(made.recording, laps: made.laps)
            let bytes = GPXExport.bytes(of: played.exported)
            if round < 4 { #expect(try await XMLSchema.gpx.validate(bytes) == "") }
            let fixes = played.exported.allPoints.filter { $0.place != nil }
            guard !fixes.isEmpty else {
                #expect(Recording(try XMLRecording(Data(bytes)).track) == nil)
                continue
            }
            let again = try replayed(bytes)
            #expect(again.exported.allPoints.map(\.time) == fixes.map(\.time), "round \(round)")
            #expect(again.exported.allPoints.map(\.place) == fixes.map(\.place))
            #expect(again.exported.allPoints.map(\.altitude) == fixes.map(\.altitude))
            let stretches = played.workout.segments.filter { segment in fixes.contains { segment.contains($0.time) } }
            #expect(again.workout.segments.count == stretches.count)
            if made.recording.samples.map(\.time) == made.recording.locations.map(\.time) {
                for quantity in [Quantity.heartRate, .temperature, .power, .cadence] {
                    #expect(again.exported.allPoints.map { $0[quantity] } == fixes.map { $0[quantity] })
                }
            }
            // A second export adds no values.
            #expect(points(GPXExport.bytes(of: again.exported)) == points(bytes))
        }
    }

    private func expectSame(_ left: Double?, _ right: Double?) {
        #expect((left == nil) == (right == nil))
        if let left, let right { #expect(abs(left - right) < 0.01) }
    }

    private func points(_ gpx: [UInt8]) -> Substring {
        let text = String(decoding: gpx, as: UTF8.self)
        return text[(text.range(of: "<trkseg>")?.lowerBound ?? text.startIndex)...]
    }
}

extension SeededRandom {
    /// A recording of one watch in milliseconds. It has pauses with items in them and sensors that fall silent. Its
    /// fixes have the times of the samples, or other times, or are missing.
    fileprivate mutating func workout() -> (recording: Recording, laps: [Timestamp]) {
        var segments: [ClosedRange<Timestamp>] = []
        var time = Recording.begin + Double(Int.random(in: 0...999, using: &self)) / 1_000
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let end = time + Double(Int.random(in: 0...300_000, using: &self)) / 1_000
            segments.append(time...end)
            time = end + Double(Int.random(in: 1_500...100_000, using: &self)) / 1_000
        }
        var recording = Recording(
            [.running, .cycling, .walking, .rowing].randomElement(using: &self)!, samples: [])
        recording.start = segments[0].lowerBound
        recording.end = segments[segments.count - 1].upperBound
        recording.segments = segments
        let step = [1, 2.5, 0.999, 7].randomElement(using: &self)!
        let fixDelay = [0, 0.4, nil].randomElement(using: &self)!
        if fixDelay == nil { recording.environment = .indoor }
        var at = recording.start
        while at < recording.end + 3 {
            recording.samples.append(sample(at))
            let seconds = at.seconds(since: recording.start)
            if let fixDelay {
                var fix = Location(
                    time: at + fixDelay, latitude: (-334_500_000 + (seconds * 270).rounded()) / 1e7, longitude: -70.66)
                fix[.altitude] = (seconds * 10).rounded() / 100
                recording.locations.append(fix)
            }
            at = at + step
        }
        let laps = (0..<Int.random(in: 0...4, using: &self)).compactMap { _ -> Timestamp? in
            let segment = segments.randomElement(using: &self)!
            let length = (segment.upperBound.microseconds - segment.lowerBound.microseconds) / 1_000
            // A lap cannot begin with its segment.
            guard length > 0 else { return nil }
            return segment.lowerBound + Double(Int64.random(in: 1...length, using: &self)) / 1_000
        }
        return (recording, laps.sorted())
    }

    private mutating func sample(_ time: Timestamp) -> Sample {
        var sample = Sample(time: time)
        let minute = Int(time.seconds(since: Recording.begin) / 60)
        // The heart rate is missing for a while.
        if minute % 4 != 2 { sample[.heartRate] = Double(Int.random(in: 60...200, using: &self)) }
        if Bool.random(using: &self) { sample[.distance] = Double(Int.random(in: 0...900, using: &self)) / 100 }
        if Bool.random(using: &self) { sample[.cadence] = Double(Int.random(in: 0...120, using: &self)) * 2 }
        if Bool.random(using: &self) { sample[.power] = Double(Int.random(in: 0...900, using: &self)) }
        if Bool.random(using: &self) { sample[.temperature] = Double(Int.random(in: -200...400, using: &self)) / 10 }
        return sample
    }
}
