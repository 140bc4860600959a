package import Workouts

/// The rows of a finished session, cut into the messages of `series/{n}` or `track/{n}`.
package struct FinalRows: Sendable {
    /// Rows of one chunk: nine columns of numbers of at most 24 characters stay below 128 KiB.
    package static let chunkLimit = 512

    private let times: [Timestamp]
    /// Each under its key; the times are among them, without values.
    private let columns: [(key: String, values: [Double?]?)]

    private init(times: [Timestamp], columns: [(key: String, values: [Double?]?)]) {
        self.times = times
        self.columns = (columns + [("c", nil)]).sorted { $0.key < $1.key }
    }

    package init(_ series: Series) {
        self.init(times: series.times, columns: series.columns.map { ($0.quantity.key, $0.values) })
    }

    package init(_ track: Track) {
        self.init(times: track.times, columns: track.columns.map { ($0.kind.key, $0.values) })
    }

    package var chunkCount: Int { (times.count + Self.chunkLimit - 1) / Self.chunkLimit }

    /// The payload of one chunk: `{"columns":{"c":[…],"h":[…|null]},"n","of","revision"}`.
    ///
    /// Columns stand in the order of their keys.
    package func payload(number: Int, revision: Int64) -> [UInt8] {
        let rows = number * Self.chunkLimit..<min((number + 1) * Self.chunkLimit, times.count)
        var json = JSONWriter()
        json.object {
            $0.objectField("columns") { json in
                for (key, values) in columns {
                    if let values {
                        json.array(key, values[rows]) { json, value in
                            if let value { json.write(value) } else { json.writeNull() }
                        }
                    } else {
                        json.array(key, times[rows]) { json, time in json.write(time) }
                    }
                }
            }
            $0.field("n", Int64(number))
            $0.field("of", Int64(chunkCount))
            $0.field("revision", revision)
        }
        return json.bytes
    }
}

extension Track.Kind {
    /// The key of the column in the chunks of `track`, where one exists the one of the items.
    var key: String {
        switch self {
        case .latitude: LocationField.latitude.key
        case .longitude: LocationField.longitude.key
        case .altitude: LocationField.altitude.key
        case .distance: Quantity.distance.key
        case .speed: LocationField.speed.key
        case .course: LocationField.course.key
        case .horizontalAccuracy: LocationField.horizontalAccuracy.key
        }
    }
}
