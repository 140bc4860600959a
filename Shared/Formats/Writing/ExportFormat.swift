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

    /// Writes the workout as a file.
    ///
    /// - Parameter append: takes the bytes of the file in order, in pieces of about 64 KiB.
    /// - Returns: bytes that then replace as many at the start of the file.
    /// - Throws: what `append` and reading a chunk throw.
    package func write(_ workout: ExportedWorkout, to append: @escaping ([UInt8]) throws -> Void) throws -> [UInt8] {
        let pieces = Pieces(append)
        switch self {
        case .fit: return try FITExport.write(workout, to: pieces)
        case .tcx: try TCXExport.write(workout, to: pieces)
        case .gpx: try GPXExport.write(workout, to: pieces)
        case .csv: try CSVExport.write(workout, to: pieces)
        case .json: try JSONExport.write(workout, to: pieces)
        }
        return []
    }
}

/// Cuts a file into pieces.
struct Pieces {
    /// A piece has a little more, because it ends with a point.
    static let size = 64 << 10

    private let append: ([UInt8]) throws -> Void

    init(_ append: @escaping ([UInt8]) throws -> Void) {
        self.append = append
    }

    /// Passes bytes on and empties them once they make a piece.
    func pass(_ bytes: inout [UInt8]) throws {
        if bytes.count >= Self.size { try passAll(&bytes) }
    }

    func passAll(_ bytes: inout [UInt8]) throws {
        try append(bytes)
        bytes.removeAll(keepingCapacity: true)
    }
}
