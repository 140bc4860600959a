package import Workouts

/// The rows of a finished session, cut into the messages of `series/{n}` or `track/{n}`.
package struct FinalRows: Sendable {
    private enum Column {
        case times
        case series(Series.Column)
        case track(Track.Column)

        /// The most numbers of a row.
        var width: Int {
            if case .series(let column) = self { column.width } else { 1 }
        }
    }

    /// Rows of one chunk: ten columns of numbers of at most 24 characters stay below 128 KiB.
    package static let chunkLimit = 512
    private static let numbersLimit = 10 * chunkLimit

    private let times: [Timestamp]
    /// Each under its key, in the order of the keys.
    private let columns: [(key: String, Column)]
    /// Fewer than ``chunkLimit`` when the rows have more than ten numbers.
    private let chunkRows: Int

    private init(times: [Timestamp], columns: [(key: String, Column)]) {
        self.times = times
        self.columns = (columns + [("c", .times)]).sorted { $0.key < $1.key }
        chunkRows = min(Self.chunkLimit, Self.numbersLimit / self.columns.reduce(0) { $0 + $1.1.width })
    }

    package init(_ series: Series) {
        self.init(times: series.times, columns: series.columns.map { ($0.quantity.key, .series($0)) })
    }

    package init(_ track: Track) {
        self.init(times: track.times, columns: track.columns.map { ($0.kind.key, .track($0)) })
    }

    package var chunkCount: Int { (times.count + chunkRows - 1) / chunkRows }

    /// The payload of one chunk: `{"columns":{"c":[…],"h":[…|null]},"n","of","revision"}`, keys sorted. A list has an
    /// array in place of each number.
    package func payload(number: Int, revision: Int64) -> [UInt8] {
        let rows = number * chunkRows..<min((number + 1) * chunkRows, times.count)
        var json = JSONWriter()
        json.object {
            $0.objectField("columns") { json in
                for (key, column) in columns {
                    switch column {
                    case .times: json.array(key, times[rows]) { json, time in json.write(time) }
                    case .track(let column): json.array(key, rows) { json, row in json.write(column[row]) }
                    case .series(let column) where column.quantity.isList:
                        json.array(key, rows) { json, row in
                            let list = column[all: row]
                            if list.isEmpty {
                                json.writeNull()
                            } else {
                                json.array(list) { json, value in json.write(value) }
                            }
                        }
                    case .series(let column): json.array(key, rows) { json, row in json.write(column[row]) }
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
        case .verticalAccuracy: LocationField.verticalAccuracy.key
        }
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ value: Double?) {
        if let value { write(value) } else { writeNull() }
    }
}
