import Workouts

/// Writes the points of a workout as CSV: a header, then a row for each point.
///
/// Cells hold numbers and times, so nothing needs quotes. A list has blanks between its numbers; an empty cell was not
/// measured. Lines end with CR LF as in RFC 4180. Times are in UTC, all with as many decimals as the finest needs,
/// because readers infer the format of all rows from the first. Deltas such as steps count from the previous row with a
/// value. Segments and laps count from 1.
enum CSVExport {
    static func write(_ exported: ExportedWorkout, to pieces: Pieces) throws {
        let active = ActiveTime(exported.workout)
        let columns = PointColumn.all(exported.survey)
        var bytes: [UInt8] = Array((["time"] + columns.map(\.csvName)).joined(separator: ",").utf8)
        bytes.append("\r\n")
        var points = exported.points
        while let point = try points.next() {
            let placed = PlacedPoint(point, in: active)
            bytes.append(point.time, decimals: exported.survey.timeDecimals)
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
            try pieces.pass(&bytes)
        }
        try pieces.passAll(&bytes)
    }
}
