import TestSupport

@testable import Formats

extension FITExport {
    static func bytes(of exported: ExportedWorkout) -> [UInt8] { ExportFormat.fit.bytes(of: exported) }
}

extension TCXExport {
    static func bytes(of exported: ExportedWorkout) -> [UInt8] { ExportFormat.tcx.bytes(of: exported) }
}

extension GPXExport {
    static func bytes(of exported: ExportedWorkout) -> [UInt8] { ExportFormat.gpx.bytes(of: exported) }
}

extension CSVExport {
    static func bytes(of exported: ExportedWorkout) -> [UInt8] { ExportFormat.csv.bytes(of: exported) }
}

extension JSONExport {
    static func bytes(of exported: ExportedWorkout) -> [UInt8] { ExportFormat.json.bytes(of: exported) }
}

extension ExportedWorkout {
    /// All points.
    var allPoints: [ExportedPoint] {
        var (points, all) = (points, [ExportedPoint]())
        do {
            while let point = try points.next() { all.append(point) }
        } catch {
            preconditionFailure("rows in memory are readable: \(error)")
        }
        return all
    }
}
