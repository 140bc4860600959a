import Workouts

/// The weather at a place.
struct Observation: Codable, Equatable, Sendable {
    var observedAt: Timestamp
    /// °C.
    var temperature: Double
    /// °C.
    var apparentTemperature: Double?
    /// 0…1.
    var humidity: Double?
    /// m/s.
    var windSpeed: Double?
    var condition: WeatherCondition
    var provider: String
    var attribution: WeatherAttribution
}

extension Observation {
    private static let temperatures = -100.0...70
    private static let winds = 0.0...150

    /// Whether the temperature is plausible. Other implausible values are left out.
    var isPlausible: Bool { Self.temperatures.contains(temperature) }

    /// The observation without implausible values.
    var plausible: Observation {
        var result = self
        if let value = apparentTemperature, !Self.temperatures.contains(value) { result.apparentTemperature = nil }
        if let value = humidity, !(0...1).contains(value) { result.humidity = nil }
        if let value = windSpeed, !Self.winds.contains(value) { result.windSpeed = nil }
        return result
    }
}
