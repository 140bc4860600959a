package import Workouts

/// Cuts the final series into the messages of `series/{n}`.
package enum SeriesChunk {
    /// Rows of one chunk: eight columns of numbers of at most 24 characters stay below 128 KiB.
    package static let rowLimit = 512

    package static func count(rows: Int) -> Int { (rows + rowLimit - 1) / rowLimit }

    /// The payload of one chunk: `{"columns":{"c":[…],"h":[…|null]},"n","of","revision"}`.
    ///
    /// Columns stand in the order of their keys.
    package static func payload(_ series: Series, number: Int, revision: Int64) -> [UInt8] {
        let rows = number * rowLimit..<min((number + 1) * rowLimit, series.times.count)
        var json = JSONWriter()
        json.object {
            $0.objectField("columns") { json in
                var columns = series.columns.map { column in (column.quantity.key, column.values as [Double?]?) }
                columns.append(("c", nil))
                for (key, values) in columns.sorted(by: { $0.0 < $1.0 }) {
                    if let values {
                        json.array(key, values[rows]) { json, value in
                            if let value { json.write(value) } else { json.writeNull() }
                        }
                    } else {
                        json.array(key, series.times[rows]) { json, time in json.write(time) }
                    }
                }
            }
            $0.field("n", Int64(number))
            $0.field("of", Int64(count(rows: series.times.count)))
            $0.field("revision", revision)
        }
        return json.bytes
    }
}
