import Workouts

/// Writes the points of a workout as CSV: a header, then a row for each point.
///
/// Numbers and times alone, so nothing needs quotes; what was not measured is an empty cell. Lines end as RFC 4180 has it,
/// with CR LF. Times are in UTC, all with as many decimals as the finest needs. Steps and energy count from the row before that
/// has any, segments and laps from 1.
enum CSVExport {
    static func bytes(of exported: ExportedWorkout) -> [UInt8] {
        let active = ActiveTime(exported.workout)
        let decimals = decimals(of: exported.points)
        var bytes: [UInt8] = Array((["time"] + PointColumn.all.map(\.csvName)).joined(separator: ",").utf8)
        bytes.append("\r\n")
        for point in exported.points {
            let placed = PlacedPoint(point, in: active)
            bytes.append(point.time, decimals: decimals)
            for column in PointColumn.all {
                bytes.append(",")
                if let number = column.value(placed) { bytes.append(number) }
            }
            bytes.append("\r\n")
        }
        return bytes
    }

    /// Readers take the form of the first row for that of all.
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
