/// A kind of file that workouts are exported to. Raw values are the words of settings and the extensions of names.
package enum ExportFormat: String, CaseIterable, Sendable {
    case fit, tcx, gpx, csv, json

    /// The media type of an upload.
    package var mediaType: String {
        switch self {
        case .fit: "application/vnd.ant.fit"
        case .tcx: "application/vnd.garmin.tcx+xml"
        case .gpx: "application/gpx+xml"
        case .csv: "text/csv; charset=utf-8"
        case .json: "application/json"
        }
    }

    /// The workout as a file.
    package func bytes(of workout: ExportedWorkout) -> [UInt8] {
        switch self {
        case .fit: FITExport.bytes(of: workout)
        case .tcx: TCXExport.bytes(of: workout)
        case .gpx: GPXExport.bytes(of: workout)
        case .csv: CSVExport.bytes(of: workout)
        case .json: JSONExport.bytes(of: workout)
        }
    }
}
