import Foundation
import Workouts

/// Writes a workout as JSON: `{"points":[{…},…],"workout":{…}}`, keys sorted.
///
/// The workout is the record of the bus. A point has the measurements of its time in the bus's units: Unix seconds,
/// distance since the start, steps and energy since the previous point with a value. Segments and laps count from 1.
enum JSONExport {
    private static func columns(of points: [ExportedPoint]) -> [PointColumn] {
        let time = PointColumn("time", "time") { FixedPoint(scaled: $0.point.time.microseconds, decimals: 6) }
        return (PointColumn.all(of: points) + [time]).sorted { $0.jsonName < $1.jsonName }
    }

    static func bytes(of exported: ExportedWorkout) -> [UInt8] {
        let active = ActiveTime(exported.workout)
        let columns = columns(of: exported.points).map { (key: Array("\"\($0.jsonName)\":".utf8), $0.cell) }
        var bytes: [UInt8] = []
        bytes.append("{\"points\":[")
        for (index, point) in exported.points.enumerated() {
            let placed = PlacedPoint(point, in: active)
            bytes.append(index == 0 ? "\n{" : ",\n{")
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
        }
        bytes.append("],\n\"workout\":")
        bytes.append(contentsOf: record(exported.workout))
        bytes.append("}\n")
        return bytes
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
