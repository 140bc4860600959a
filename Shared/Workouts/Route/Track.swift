/// The final track of a session: one row per accepted fix at its own time and position, without resampling.
package struct Track: Equatable, Sendable {
    package enum Kind: Int, CaseIterable, Sendable {
        case latitude, longitude, altitude
        /// Metres since the start of the session along the filtered track.
        case distance
        case speed, course, horizontalAccuracy

        /// The measured field of the column; `nil` for the distance.
        fileprivate var field: LocationField? {
            switch self {
            case .latitude: .latitude
            case .longitude: .longitude
            case .altitude: .altitude
            case .distance: nil
            case .speed: .speed
            case .course: .course
            case .horizontalAccuracy: .horizontalAccuracy
            }
        }
    }

    package struct Column: Equatable, Sendable {
        package let kind: Kind
        package let values: [Double?]

        package init(kind: Kind, values: [Double?]) {
            self.kind = kind
            self.values = values
        }
    }

    package let times: [Timestamp]
    /// The columns with at least one value.
    package let columns: [Column]

    /// - Parameter columns: each has one optional value per time.
    package init(times: [Timestamp], columns: [Column]) {
        self.times = times
        self.columns = columns
    }

    /// The values of a column, one optional value per time; `nil` if the column is empty.
    package subscript(kind: Kind) -> [Double?]? { columns.first { $0.kind == kind }?.values }

    package init(_ locations: CountedLocations) {
        let rows = locations.fixes.indices.map { locations.location($0) }
        times = locations.fixes.map { Timestamp(microseconds: $0.fix.time) }
        var sum = 0.0
        let distances = locations.fixes.map { accepted in
            sum += accepted.distance
            return thousandths(sum)
        }
        columns = Kind.allCases.compactMap { kind in
            let values = kind.field.map { field in rows.map { $0[field] } } ?? distances
            return values.contains { $0 != nil } ? Column(kind: kind, values: values) : nil
        }
    }
}
