/// The final track of a session: one row per accepted fix at its own time and position, without resampling, and one per
/// location that has an altitude and no position.
package struct Track: Equatable, Sendable {
    package enum Kind: Int, CaseIterable, Sendable {
        case latitude, longitude, altitude
        /// Metres since the start of the session along the filtered track.
        case distance
        case speed, course, horizontalAccuracy, verticalAccuracy

        /// The fraction of the column's compact numbers: a ten-millionth of a degree is a centimetre.
        fileprivate var scale: Double { self == .latitude || self == .longitude ? 1e7 : 1e6 }

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
            case .verticalAccuracy: .verticalAccuracy
            }
        }
    }

    package struct Column: Equatable, Sendable {
        package let kind: Kind
        /// NaN for none.
        private let numbers: CompactNumbers

        package init(kind: Kind, values: [Double?]) {
            self.init(kind: kind, numbers: CompactNumbers(values.map { $0 ?? .nan }))
        }

        package init(kind: Kind, numbers: CompactNumbers) {
            self.kind = kind
            self.numbers = numbers
        }

        package var values: [Double?] { (0..<numbers.count).map { self[$0] } }

        package subscript(row: Int) -> Double? { numbers[row].isNaN ? nil : numbers[row] }
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

    /// - Parameter locations: a caller that keeps no copy saves memory.
    package init(_ locations: consuming CountedLocations) {
        let times = locations.times
        var sum = 0.0
        var distances = CompactNumbers(count: times.count, scale: 1e3)
        for (index, fix) in locations.fixes.enumerated() {
            sum += fix.distance
            distances[locations.row(ofFix: index)] = thousandths(sum)
        }
        let sources = locations.items
        _ = consume locations
        var measured: [Kind: CompactNumbers] = [:]
        measured[.distance] = times.isEmpty ? nil : distances
        for (items, rows) in sources {
            var number = 0
            items.visit { location in
                defer { number += 1 }
                guard rows[number] != CountedLocations.noRow else { return }
                let row = Int(rows[number])
                for kind in Kind.allCases {
                    guard let field = kind.field, let value = location[field] else { continue }
                    measured[kind, default: CompactNumbers(count: times.count, scale: kind.scale)][row] = value
                }
            }
        }
        self.times = times
        columns = Kind.allCases.compactMap { kind in measured[kind].map { Column(kind: kind, numbers: $0) } }
    }
}
