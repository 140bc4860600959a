import Bus
import Foundation
import Testing
import Workouts

@testable import SessionEngine

struct LargestRecordTests {
    private static let start = Timestamp(seconds: 1_700_000_000.123457)

    /// With as many pauses, laps and streams as there can be.
    private func session() throws -> Session {
        let key = SessionKey(User(String(repeating: "x", count: 64))!, SessionID(UUID()))
        var start = SessionStart(activity: .traditionalStrength, countdown: 0)
        start.name = String(repeating: "\"", count: 200)
        var session = Session(key: key, start: start, at: Self.start, now: Self.start)
        var time = Self.start
        for number in 0..<Session.segmentLimit {
            if number < Session.lapLimit { try session.apply(.lap, at: time + 0.123457) }
            try session.apply(.pause, at: time + 0.234568)
            try session.apply(.resume, at: time + 0.345679)
            time = time + 1.357913
        }
        let streams = (0..<SessionAction.streamLimit).map { number in
            (StreamName("locations/\(String(repeating: "x", count: 60))\(1_000 + number)")!, StreamLimits.items)
        }
        try session.apply(.end(streams: Dictionary(uniqueKeysWithValues: streams)), at: time)
        return session
    }

    @Test func `the largest record there can be fits a payload`() throws {
        let session = try session()
        var totals = MetricsSummary()
        let lap =
            #"{"activeEnergy":12345.678,"averageHeartRate":123.456,"distance":123456.789,"duration":12345.678,"#
            + #""endedAt":1700000000.123457,"maximumHeartRate":123.456,"startedAt":1700000000.123457}"#
        let split = #"{"averageHeartRate":123.456,"distance":1609.344,"duration":12345.678}"#
        totals.laps = Array(
            repeating: try JSONCoding.decode(MetricsSummary.Lap.self, from: lap.utf8), count: Session.lapLimit + 1)
        totals.splits = Array(
            repeating: try JSONCoding.decode(MetricsSummary.Split.self, from: split.utf8),
            count: MetricsSummary.splitLimit)
        var route = RouteSummary()
        route.polyline = [String(repeating: "x", count: RouteSummary.polylineLimit)]
        let record = WorkoutRecord(
            session, metrics: MetricsReport(revision: 1, state: 1, next: session.streams, chunks: 1, totals: totals),
            route: RouteReport(revision: 1, state: 1, next: session.streams, chunks: 1, totals: route),
            isComplete: true, revision: 1)
        let size = JSONCoding.encode(record).count
        // The topic has to fit as well.
        #expect(size <= 256 * 1_024 - 512, "\(size)")
        #expect(JSONCoding.encode(session.state(revision: 1)).count <= size)
    }
}
