/// The fields of a location in degrees (WGS 84), metres and m/s.
package enum LocationField: Int, CaseIterable, Sendable {
    case latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, speed, course

    /// The accepted values; a value outside is dropped.
    ///
    /// All accuracies are accepted. A negative accuracy marks an invalid position; dropping the accuracy would leave
    /// the position without that mark.
    package var range: ClosedRange<Double> {
        switch self {
        case .latitude: -90...90
        case .longitude: -180...180
        case .altitude: -1_000...20_000
        case .horizontalAccuracy, .verticalAccuracy: -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude
        case .speed: 0...60
        case .course: 0...360
        }
    }
}

/// One item of a location stream: a time and a position.
///
/// An item without a usable time is stored as an empty item, because its number is used. An item without both
/// coordinates is stored and does not count.
package struct Location: Sendable {
    /// The time of measurement; `nil` for an empty item.
    package var time: Timestamp?
    private var values = [7 of Double](repeating: .nan)

    package init(time: Timestamp? = nil) {
        self.time = time
    }

    package init(time: Timestamp?, latitude: Double, longitude: Double) {
        self.time = time
        values[LocationField.latitude.rawValue] = latitude
        values[LocationField.longitude.rawValue] = longitude
    }

    /// The value of a field; `nil` if absent.
    package subscript(field: LocationField) -> Double? {
        get {
            let value = values[field.rawValue]
            return value.isNaN ? nil : value
        }
        set { values[field.rawValue] = newValue ?? .nan }
    }

    package var latitude: Double? { self[.latitude] }
    package var longitude: Double? { self[.longitude] }
    package var altitude: Double? { self[.altitude] }
    package var horizontalAccuracy: Double? { self[.horizontalAccuracy] }
    package var verticalAccuracy: Double? { self[.verticalAccuracy] }
    package var speed: Double? { self[.speed] }
    package var course: Double? { self[.course] }

    /// Positions with this accuracy in metres or a worse one do not count.
    private static let accuracyLimit = 50.0

    /// Whether the position counts if there is one: its accuracy is unknown, or valid and sufficient.
    var isAccurate: Bool { horizontalAccuracy.map((0..<Self.accuracyLimit).contains) ?? true }

    /// The position; `nil` without one that counts.
    package var position: Coordinate? {
        guard let latitude, let longitude, isAccurate else { return nil }
        return Coordinate(latitude: latitude, longitude: longitude)
    }
}

extension Location: Equatable {
    package static func == (left: Location, right: Location) -> Bool {
        left.time == right.time && LocationField.allCases.allSatisfy { left[$0] == right[$0] }
    }
}
