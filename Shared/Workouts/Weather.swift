/// The weather at a session's location: the payload of `weather`, and a part of the finished record.
///
/// Absent values are unknown. Some providers lack them.
package struct Weather: Codable, Equatable, Sendable {
    package var revision: Int64
    /// The time of the provider's values.
    package var observedAt: Timestamp
    /// The time of the last successful request to the provider.
    package var fetchedAt: Timestamp
    /// °C.
    package var temperature: Double
    /// °C.
    package var apparentTemperature: Double?
    /// A fraction from 0 to 1.
    package var humidity: Double?
    /// m/s.
    package var windSpeed: Double?
    package var condition: WeatherCondition
    /// The provider's name in the settings: `open-meteo`.
    package var provider: String
    /// The attribution that must be displayed with the values.
    package var attribution: WeatherAttribution
    /// Whether the values are outdated because requests to the provider fail.
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

/// The source of the data and a link to its terms.
package struct WeatherAttribution: Codable, Hashable, Sendable {
    package var text: String
    package var url: String

    package init(text: String, url: String) {
        self.text = text
        self.url = url
    }
}

/// The condition in Pacebus's own words, independent of the provider.
package enum WeatherCondition: String, Codable, CaseIterable, Sendable {
    case clear, partlyCloudy, cloudy, fog, haze, windy
    case drizzle, rain, heavyRain, freezingRain
    case sleet, snow, heavySnow, hail
    case thunderstorm
    /// A tropical storm or hurricane.
    case storm
    /// Another condition, or a word that this version does not know.
    case unknown

    package init(from decoder: any Decoder) throws {
        self = Self(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
    }
}
