extension ExportFormat {
    /// The workout as a file.
    func bytes(of workout: ExportedWorkout) -> [UInt8] {
        switch self {
        case .fit: FITExport.bytes(of: workout)
        case .tcx: TCXExport.bytes(of: workout)
        case .gpx: GPXExport.bytes(of: workout)
        case .csv: CSVExport.bytes(of: workout)
        case .json: JSONExport.bytes(of: workout)
        }
    }
}
