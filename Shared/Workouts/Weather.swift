/// The weather where a session takes place, as it stands on `weather` and in the finished record.
///
/// Absent values are unknown: not every provider has them.
package struct Weather: Codable, Equatable, Sendable {
    package var revision: Int64
    /// When the provider's own values are from.
    package var observedAt: Timestamp
    /// When the provider was asked last and said so.
    package var fetchedAt: Timestamp
    /// °C.
    package var temperature: Double
    /// What it feels like, in °C.
    package var apparentTemperature: Double?
    /// Relative, 0…1.
    package var humidity: Double?
    /// m/s.
    package var windSpeed: Double?
    package var condition: WeatherCondition
    /// Who says so, by its name as a setting: `open-meteo`.
    package var provider: String
    /// What has to be shown beside the values.
    package var attribution: WeatherAttribution
    /// The provider could not be asked for a while, and the values may not hold any more.
    package var isStale: Bool

    package init(
        revision: Int64, observedAt: Timestamp, fetchedAt: Timestamp, temperature: Double,
        apparentTemperature: Double? = nil, humidity: Double? = nil, windSpeed: Double? = nil,
        condition: WeatherCondition, provider: String, attribution: WeatherAttribution, isStale: Bool = false
    ) {
        self.revision = revision
        self.observedAt = observedAt
        self.fetchedAt = fetchedAt
        self.temperature = temperature
        self.apparentTemperature = apparentTemperature
        self.humidity = humidity
        self.windSpeed = windSpeed
        self.condition = condition
        self.provider = provider
        self.attribution = attribution
        self.isStale = isStale
    }
}

/// Whose data it is and where that is said.
package struct WeatherAttribution: Codable, Hashable, Sendable {
    package var text: String
    package var url: String

    package init(text: String, url: String) {
        self.text = text
        self.url = url
    }
}

/// What the sky does, in words of our own: they stay the same whatever the provider calls it.
package enum WeatherCondition: String, Codable, CaseIterable, Sendable {
    case clear, partlyCloudy, cloudy, fog, haze, windy
    case drizzle, rain, heavyRain, freezingRain
    case sleet, snow, heavySnow, hail
    case thunderstorm
    /// A tropical storm or hurricane.
    case storm
    /// None of these, or a word that this version does not know.
    case unknown

    package init(from decoder: any Decoder) throws {
        self = Self(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
    }
}
