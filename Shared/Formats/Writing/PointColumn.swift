import Workouts

/// A column of the tables of points: what CSV and JSON call it, and its numbers.
struct PointColumn: Sendable {
    let csvName: String
    let jsonName: String
    let value: @Sendable (PlacedPoint) -> FixedPoint?

    /// All but the time, in the order in which people read them.
    static let all: [PointColumn] = [
        .init("active_seconds", "activeTime") { .init($0.position.activeTime, decimals: 6) },
        .init("segment", "segment") { $0.position.segment.map { .init(scaled: Int64($0) + 1, decimals: 0) } },
        .init("lap", "lap") { .init(scaled: Int64($0.position.lap) + 1, decimals: 0) },
        .init("latitude", "latitude") { .init($0.place?.la, decimals: PlacedPoint.placeDecimals) },
        .init("longitude", "longitude") { .init($0.place?.lo, decimals: PlacedPoint.placeDecimals) },
        .init("horizontal_accuracy_m", "horizontalAccuracy") { .init($0.point.horizontalAccuracy, decimals: 6) },
        .init("altitude_m", "altitude") { .init($0.point.altitude, decimals: 6) },
        .init("distance_m", "distance") { .init($0.point.distance, decimals: 6) },
        .init("speed_m_s", "speed") { .init($0.point.speed, decimals: 6) },
        .init("course_deg", "course") { .init($0.point.course, decimals: 6) },
        .init("heart_rate_bpm", "heartRate") { .init($0.point.heartRate, decimals: 6) },
        .init("cadence_per_min", "cadence") { .init($0.point.cadence, decimals: 6) },
        .init("power_w", "power") { .init($0.point.power, decimals: 6) },
        .init("temperature_c", "temperature") { .init($0.point.temperature, decimals: 6) },
        .init("steps", "steps") { .init($0.point.steps, decimals: 6) },
        .init("active_energy_kcal", "activeEnergy") { .init($0.point.activeEnergy, decimals: 6) },
    ]

    init(_ csvName: String, _ jsonName: String, value: @escaping @Sendable (PlacedPoint) -> FixedPoint?) {
        self.csvName = csvName
        self.jsonName = jsonName
        self.value = value
    }
}
