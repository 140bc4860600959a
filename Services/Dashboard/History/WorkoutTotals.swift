import Bus
import Foundation
import Workouts

/// The totals of a finished workout: what lists show of its record.
struct WorkoutTotals: Codable, Equatable, Sendable {
    var revision: Int64
    var activity: Activity
    var name: String
    var startedAt: Timestamp?
    var endedAt: Timestamp?
    var timeZone: String?
    /// Seconds without pauses.
    var activeDuration: Double
    var distance: Double?

    /// Decodes them from the payload of `workout`.
    init(_ payload: some Sequence<UInt8>) throws(PayloadError) {
        self = try JSONCoding.decode(WorkoutTotals.self, from: payload)
    }
}

extension Timestamp {
    /// The number of the day on the calendar of a zone, GMT without one or with an unknown one.
    func localDay(_ zone: String?) -> Int {
        let offset = zone.flatMap { TimeZone(identifier: $0) }?
            .secondsFromGMT(for: Date(timeIntervalSince1970: seconds))
        return Int(((seconds + Double(offset ?? 0)) / 86_400).rounded(.down))
    }

    /// The number of the week, from Monday.
    func localWeek(_ zone: String?) -> Int {
        // Day 0 was a Thursday.
        Int((Double(localDay(zone) + 3) / 7).rounded(.down))
    }
}
