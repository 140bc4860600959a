/// A kind of file that workouts are exported to. Raw values are those of settings, and the endings of names.
enum ExportFormat: String, CaseIterable, Sendable {
    case fit, tcx, gpx, csv, json

    /// The media type with which a file is uploaded.
    var mediaType: String {
        switch self {
        case .fit: "application/vnd.ant.fit"
        case .tcx: "application/vnd.garmin.tcx+xml"
        case .gpx: "application/gpx+xml"
        case .csv: "text/csv; charset=utf-8"
        case .json: "application/json"
        }
    }
}
