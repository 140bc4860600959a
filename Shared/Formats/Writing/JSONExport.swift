import Foundation
import Workouts

/// Writes a workout as JSON: `{"points":[{…},…],"workout":{…}}`, keys sorted.
///
/// The workout is the record of the bus. A point has the measurements of its time in the bus's units: Unix seconds,
/// distance since the start, steps and energy since the previous point with a value. Segments and laps count from 1.
enum JSONExport {
    private static func columns(_ survey: PointSurvey) -> [PointColumn] {
        let time = PointColumn("time", "time") { FixedPoint(scaled: $0.point.time.microseconds, decimals: 6) }
        return (PointColumn.all(survey) + [time]).sorted { $0.jsonName < $1.jsonName }
    }

    static func write(_ exported: ExportedWorkout, to pieces: Pieces) throws {
        let active = ActiveTime(exported.workout)
        let columns = columns(exported.survey).map { (key: Array("\"\($0.jsonName)\":".utf8), $0.cell) }
        var bytes: [UInt8] = []
        bytes.append("{\"points\":[")
        var points = exported.points
        var isFirstPoint = true
        while let point = try points.next() {
            let placed = PlacedPoint(point, in: active)
            bytes.append(isFirstPoint ? "\n{" : ",\n{")
            isFirstPoint = false
            var isFirst = true
            for (key, cell) in columns {
                guard let cell = cell(placed) else { continue }
                if !isFirst { bytes.append(",") }
                isFirst = false
                bytes.append(contentsOf: key)
                switch cell {
                case .number(let number): bytes.append(number)
                case .list(let numbers):
                    bytes.append("[")
                    for (index, number) in numbers.enumerated() {
                        if index > 0 { bytes.append(",") }
                        bytes.append(number)
                    }
                    bytes.append("]")
                }
            }
            bytes.append("}")
            try pieces.pass(&bytes)
        }
        bytes.append("],\n\"workout\":")
        bytes.append(contentsOf: record(exported.workout))
        bytes.append("}\n")
        try pieces.passAll(&bytes)
    }

    /// Encodes any record. NaN and infinity, which JSON cannot represent, become strings.
    private static func record(_ workout: WorkoutRecord) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        do {
            return try encoder.encode(workout)
        } catch {
            preconditionFailure("plain values cannot be encoded: \(error)")
        }
    }
}
