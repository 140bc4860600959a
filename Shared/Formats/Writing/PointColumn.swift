import Workouts

/// A column of the tables of points in CSV and JSON: its names and its cells.
struct PointColumn: Sendable {
    enum Cell {
        case number(FixedPoint)
        case list([FixedPoint])
    }

    let csvName: String
    let jsonName: String
    let cell: @Sendable (PlacedPoint) -> Cell?

    /// All columns except the time, in order of display. Quantities of later versions appear only if measured.
    static func all(_ survey: PointSurvey) -> [PointColumn] {
        first + PresentFields<Quantity>(survey.present).filter { !$0.isNamed }.map(PointColumn.init)
    }

    private static let first: [PointColumn] = [
        .init("active_seconds", "activeTime") { .init($0.position.activeTime, decimals: 6) },
        .init("segment", "segment") { $0.position.segment.map { .init(scaled: Int64($0) + 1, decimals: 0) } },
        .init("lap", "lap") { .init(scaled: Int64($0.position.lap) + 1, decimals: 0) },
        .init("latitude", "latitude") { .init($0.place?.la, decimals: PlacedPoint.placeDecimals) },
        .init("longitude", "longitude") { .init($0.place?.lo, decimals: PlacedPoint.placeDecimals) },
        .init("horizontal_accuracy_m", "horizontalAccuracy") { .init($0.point.horizontalAccuracy, decimals: 6) },
        .init("altitude_m", "altitude") { .init($0.point.altitude, decimals: 6) },
        .init(.distance), .init(.speed), .init("course_deg", "course") { .init($0.point.course, decimals: 6) },
        .init(.heartRate), .init(.cadence), .init(.power), .init(.temperature), .init(.steps), .init(.activeEnergy),
    ]

    init(_ csvName: String, _ jsonName: String, value: @escaping @Sendable (PlacedPoint) -> FixedPoint?) {
        self.csvName = csvName
        self.jsonName = jsonName
        cell = { value($0).map(Cell.number) }
    }

    private init(_ quantity: Quantity) {
        csvName = quantity.csvName
        jsonName = quantity.name
        cell = { placed in
            let values = placed.point.values
            guard quantity.isList else {
                return FixedPoint(values[quantity], decimals: 6).map(Cell.number)
            }
            let list = values[all: quantity].compactMap { FixedPoint($0, decimals: 6) }
            return list.isEmpty ? nil : .list(list)
        }
    }
}
