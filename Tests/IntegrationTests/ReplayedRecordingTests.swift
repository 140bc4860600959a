import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// Recordings of real devices, played through the whole system. An independent reader provides the expected values.
@Suite(
    .serialized,
    .disabled(if: IndependentReader.isMissing, "PYTHON names no interpreter that has fitdecode"),
    .disabled(if: recordings == nil, "RECORDINGS_DIR is not set"))
struct ReplayedRecordingTests {
    @Test(.timeLimit(.minutes(60)), arguments: [("run-5km", 1.0), ("ride-39km-with-pauses", 2.0), ("walk-700m", 1.0)])
    func `a replayed recording becomes a workout with its own totals`(
        name: String, tolerance: Double
    ) async throws {
        let file = try #require(recordings).appending(path: "\(name).fit")
        let read = try await IndependentReader.summary(of: file)
        let session = try #require(read.sessions.first)
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))

        let installation = try await Installation()
        let results = try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try installation.replay(file.path(percentEncoded: false), key)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            return try await Results(key, device: "watch-1", items: read.records.count, from: observer)
        }

        let workout = results.workout
        let distance = try #require(session["total_distance"])
        let found = try #require(workout.distance)
        #expect(abs(found - distance) <= distance / 1_000, "\(found) for \(distance)")
        #expect(abs(workout.activeDuration - (try #require(session["total_timer_time"]))) <= tolerance)
        #expect(workout.segments.activeDuration() == workout.activeDuration)
        #expect(workout.next[try #require(StreamName("samples/watch-1"))] == read.records.count)
        if let average = session["avg_heart_rate"] {
            #expect(abs(try #require(workout.averageHeartRate) - average) <= 1)
        }
        if let maximum = session["max_heart_rate"] { #expect(workout.maximumHeartRate == maximum) }
        #expect(workout.segments.pauses == read.pauses(of: workout))
    }

    @Test(
        .timeLimit(.minutes(60)),
        arguments: [("run-5km", 0.015), ("ride-39km-with-pauses", 0.015), ("walk-700m", 0.03)])
    func `a recording without distance gets nearly the same from its positions`(
        name: String, tolerance: Double
    ) async throws {
        let file = try #require(recordings).appending(path: "\(name).fit")
        let read = try await IndependentReader.summary(of: file)
        let session = try #require(read.sessions.first)
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let installation = try await Installation()
        let workout = try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try installation.replay(file.path(percentEncoded: false), key, withoutDistance: true)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            return try await Results(key, device: "watch-1", items: read.records.count, from: observer).workout
        }
        let distance = try #require(session["total_distance"])
        #expect(abs(try #require(workout.distance) - distance) <= distance * tolerance)
        if let ascent = session["total_ascent"] {
            #expect(abs(try #require(workout.ascent) - ascent) <= max(15, ascent / 4))
        }
    }
}

private let recordings = ProcessInfo.processInfo.environment["RECORDINGS_DIR"].map { URL(filePath: $0) }
