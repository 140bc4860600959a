import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

struct LargestRecordTests {
    private static let start = Timestamp(seconds: 1_700_000_000.123457)

    private var streams: [StreamName: Int] {
        let streams = (0..<SessionAction.streamLimit).map { number in
            (StreamName("locations/\(String(repeating: "x", count: 60))\(1_000 + number)")!, StreamLimits.items)
        }
        return Dictionary(uniqueKeysWithValues: streams)
    }

    /// A session with the maximum number of pauses, laps and streams.
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
        try session.apply(.end(streams: streams), at: time)
        return session
    }

    /// A session with a plan of the maximum size and all sets completed.
    private func planned() throws -> Session {
        let name = String(repeating: "\"", count: PlanLimits.name)
        let id = String(repeating: "\"", count: PlanLimits.id - 2)
        var start = SessionStart(activity: .traditionalStrength, name: name + name, countdown: 0)
        var definition = WorkoutDefinition(name: name, sections: [])
        let set = PlannedSet(repetitions: 1_000, weight: 999.123456789, time: 35_999.123456, rest: 3_599.123456)
        // Add sections until the size limit refuses one.
        while true {
            let item = WorkoutDefinition.Item(
                id: "\(id)\(10 + definition.sections.count)", name: name, exercise: .shoulderPress,
                sets: Array(repeating: set, count: 15))
            let larger = WorkoutDefinition(
                name: name,
                sections: definition.sections + [
                    .init(name: name, timer: TimerConfiguration(.forTime, rounds: 1, cap: 36_000), items: [item])
                ])
            guard larger.validationError == nil else { break }
            definition = larger
        }
        start.definition = definition
        let key = SessionKey(User(String(repeating: "x", count: 64))!, SessionID(UUID()))
        var session = Session(key: key, start: start, at: Self.start, now: Self.start)
        for section in definition.sections {
            for item in section.items {
                for number in (item.sets ?? []).indices {
                    let completion = SetCompletion(SetReference(item: item.id, set: number))
                    try session.apply(.plan(.completeSet(completion)), at: Self.start)
                }
            }
        }
        return session
    }

    /// A planned session with the maximum number of pauses, laps, streams and rounds.
    private func plannedAndEnded() throws -> Session {
        var session = try planned()
        var time = Self.start
        for number in 0..<Session.plannedSegmentLimit {
            if number < Session.plannedLapLimit { try session.apply(.lap, at: time + 0.123457) }
            try session.apply(.pause, at: time + 0.234568)
            try session.apply(.resume, at: time + 0.345679)
            time = time + 1.357913
        }
        try session.apply(.end(streams: streams), at: time)
        return session
    }

    @Test(arguments: [false, true])
    func `the largest possible record fits a payload`(isPlanned: Bool) throws {
        let session = try isPlanned ? plannedAndEnded() : session()
        var totals = MetricsSummary()
        let lap =
            #"{"activeEnergy":12345.678,"ascent":1234.567,"averageCadence":123.456,"averageHeartRate":123.456,"#
            + #""averagePower":1234.567,"distance":123456.789,"duration":12345.678,"endedAt":1700000000.123457,"#
            + #""maximumHeartRate":123.456,"pace":1234.567,"startedAt":1700000000.123457}"#
        let split =
            #"{"activeEnergy":1234.567,"ascent":1234.567,"averageCadence":123.456,"averageHeartRate":123.456,"#
            + #""averagePower":1234.567,"distance":1609.344,"duration":12345.678,"maximumHeartRate":123.456,"#
            + #""pace":1234.567}"#
        totals.laps = Array(
            repeating: try JSONCoding.decode(MetricsSummary.Lap.self, from: lap.utf8), count: session.laps.count + 1)
        totals.splits = Array(
            repeating: try JSONCoding.decode(MetricsSummary.Split.self, from: split.utf8),
            count: MetricsSummary.splitLimit(laps: 0))
        try totals.fill()
        var route = RouteSummary()
        route.polyline = [String(repeating: "x", count: RouteSummary.polylineLimit)]
        let record = WorkoutRecord(
            session, metrics: MetricsReport(revision: 1, state: 1, next: session.streams, chunks: 1, totals: totals),
            route: RouteReport(revision: 1, state: 1, next: session.streams, chunks: 1, totals: route),
            isComplete: true, revision: 1)
        #expect((record.bests?.sets != nil) == isPlanned)
        let size = JSONCoding.encode(record).count
        // The message also contains the topic.
        #expect(size <= 256 * 1_024 - 512, "\(size)")
        let state = PublishedState(session.state(revision: 1), session.planState(Self.start))
        #expect(JSONCoding.encode(state).count <= size)
    }
}
