import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// The results of a session: its final `workout` and `summary/metrics`, and its `summary/route` if there are locations.
struct Results {
    let workout: WorkoutRecord
    let summary: MetricsReport
    let route: RouteReport?
    /// The payloads without the fields that may differ between runs, by rule 3 of the design.
    let comparable: [String]

    /// Waits until all results cover at least this number of items of the device.
    init(_ key: SessionKey, device: String, items: Int, from observer: BusObserver) async throws {
        try await self.init(key, items: [device: items], from: observer)
    }

    /// Waits until all results cover at least these numbers of items of each device.
    init(_ key: SessionKey, items: [String: Int], from observer: BusObserver) async throws {
        func holdsAll(_ next: [StreamName: Int]) -> Bool {
            items.allSatisfy { device, count in
                StreamName("samples/\(device)").map { next[$0, default: 0] >= count } ?? false
            }
        }
        let workout = try await observer.wait(for: Topic.session(key, .workout).name) { payload in
            guard let record = try? JSONCoding.decode(WorkoutRecord.self, from: payload) else { return false }
            return record.incomplete != true && holdsAll(record.next)
        }
        self.workout = try JSONCoding.decode(WorkoutRecord.self, from: workout)
        let locations = self.workout.next.filter { $0.key.kind == .locations }
        let routeTopic = Topic.session(key, .summaryRoute).name
        let summary = try await observer.wait(for: Topic.session(key, .summaryMetrics).name) { payload in
            guard let report = try? JSONCoding.decode(MetricsReport.self, from: payload) else { return false }
            let route = observer.latest(routeTopic).flatMap { try? JSONCoding.decode(RouteReport.self, from: $0) }
            return holdsAll(report.next) && (locations.isEmpty || report.route == route?.revision)
        }
        self.summary = try JSONCoding.decode(MetricsReport.self, from: summary)
        guard !locations.isEmpty else {
            route = nil
            comparable = try [workout, summary].map(Self.comparable)
            return
        }
        let route = try await observer.wait(for: routeTopic) { payload in
            guard let report = try? JSONCoding.decode(RouteReport.self, from: payload) else { return false }
            return locations.allSatisfy { stream, count in report.next[stream, default: 0] >= count }
        }
        self.route = try JSONCoding.decode(RouteReport.self, from: route)
        comparable = try [workout, summary, route].map(Self.comparable)
    }

    /// The comparable results of the device `watch-1`, without the session's id.
    static func comparable(_ key: SessionKey, items: Int, from observer: BusObserver) async throws -> [String] {
        try await Results(key, device: "watch-1", items: items, from: observer).comparable
            .map { $0.replacing("\(key.session)", with: "session") }
    }

    /// A payload without the fields that may differ between runs.
    static func comparable(_ payload: [UInt8]) throws -> String {
        var object = try #require(try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any])
        for excepted in ["revision", "state", "route", "summaries", "weather", "incomplete"] { object[excepted] = nil }
        return String(decoding: try JSONSerialization.data(withJSONObject: object, options: .sortedKeys), as: UTF8.self)
    }
}
