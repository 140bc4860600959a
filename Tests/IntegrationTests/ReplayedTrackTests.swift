import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// An XML recording, played through the whole system. Python's ElementTree provides the expected values.
@Suite(.serialized, .disabled(if: recordings == nil, "RECORDINGS_DIR is not set"))
struct ReplayedTrackTests {
    @Test(.timeLimit(.minutes(60)))
    func `run-8km without distance gets nearly the same from its positions`() async throws {
        let file = try #require(recordings).appending(path: "run-8km.gpx").path(percentEncoded: false)
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let installation = try await Installation()
        let points = try await IndependentTrack.parts(of: file).flatMap(\.self)
        let results = try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try installation.replay(file, key, withoutDistance: true)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            return try await Results(key, device: "watch-1", items: points.count, from: observer)
        }
        #expect(results.workout.distance == results.summary.totals.distance)
        let distance = try #require(points.last?.distance)
        #expect(abs(try #require(results.workout.distance) - distance) <= distance * 0.015)
    }

    @Test(.timeLimit(.minutes(60)))
    func `run-8km becomes a workout with its own distance and times`() async throws {
        let file = try #require(recordings).appending(path: "run-8km.gpx").path(percentEncoded: false)
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let installation = try await Installation()
        let parts = try await IndependentTrack.parts(of: file)
        let points = parts.flatMap(\.self)
        let results = try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try installation.replay(file, key)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            return try await Results(key, device: "watch-1", items: points.count, from: observer)
        }

        let workout = results.workout
        let distance = try #require(points.last?.distance)
        #expect(distance > 8_000)
        #expect(abs(try #require(workout.distance) - distance) <= distance / 1_000)
        let times = parts.compactMap { part in part.first.flatMap { first in part.last.map { [first.time, $0.time] } } }
        #expect(workout.segments.map { [$0.start.seconds, $0.end?.seconds ?? .nan] } == times)
        #expect(workout.startedAt?.seconds == points.first?.time)
        #expect(workout.endedAt?.seconds == points.last?.time)
        #expect(abs(workout.activeDuration - times.reduce(0) { $0 + $1[1] - $1[0] }) < 0.001)
        #expect(results.summary.next == [try #require(StreamName("samples/watch-1")): points.count])
    }
}

private let recordings = ProcessInfo.processInfo.environment["RECORDINGS_DIR"].map { URL(filePath: $0) }
