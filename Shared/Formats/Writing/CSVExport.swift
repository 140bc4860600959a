import Workouts

/// Writes the points of a workout as CSV: a header, then a row for each point.
///
/// Cells hold numbers and times, so nothing needs quotes. A list has blanks between its numbers; an empty cell was not
/// measured. Lines end with CR LF as in RFC 4180. Times are in UTC, all with as many decimals as the finest needs.
/// Deltas such as steps count from the previous row with a value. Segments and laps count from 1.
enum CSVExport {
    static func bytes(of exported: ExportedWorkout) -> [UInt8] {
        let active = ActiveTime(exported.workout)
        let decimals = decimals(of: exported.points)
        let columns = PointColumn.all(of: exported.points)
        var bytes: [UInt8] = Array((["time"] + columns.map(\.csvName)).joined(separator: ",").utf8)
        bytes.append("\r\n")
        for point in exported.points {
            let placed = PlacedPoint(point, in: active)
            bytes.append(point.time, decimals: decimals)
            for column in columns {
                bytes.append(",")
                switch column.cell(placed) {
                case .number(let number): bytes.append(number)
                case .list(let numbers):
                    for (index, number) in numbers.enumerated() {
                        if index > 0 { bytes.append(" ") }
                        bytes.append(number)
                    }
                case nil: break
                }
            }
            bytes.append("\r\n")
        }
        return bytes
    }

    /// Readers infer the format of all rows from the first.
    private static func decimals(of points: [ExportedPoint]) -> Int {
        points.reduce(into: 0) { decimals, point in
            if point.time.microseconds % 1_000 != 0 {
                decimals = 6
            } else if point.time.microseconds % 1_000_000 != 0 {
                decimals = max(decimals, 3)
            }
        }
    }
}
