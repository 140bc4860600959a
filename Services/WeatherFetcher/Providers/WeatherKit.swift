import Bus
import ServiceKit
import Timing
import Workouts

/// Apple's WeatherKit, for members of its developer program.
///
/// Source: https://developer.apple.com/documentation/weatherkitrestapi.
struct WeatherKit: WeatherProvider {
    static let name = "weatherkit"
    static let url = "https://weatherkit.apple.com"
    /// 500,000 a month.
    static let budget = TokenBucket<Moment>(burst: 5_000, perSecond: 490_000 / (31 * 86_400))

    /// Apple's attribution page, used when a response names none.
    private static let attributionURL = "https://developer.apple.com/weatherkit/data-source-attribution/"

    let token: WeatherKitToken

    func path(_ cell: WeatherCell) -> String {
        "/api/v1/weather/en/\(cell.latitude)/\(cell.longitude)?dataSets=currentWeather"
    }

    func headers(now: Timestamp) async throws -> [String: String] {
        ["Authorization": "Bearer \(try await token.text(now: now))"]
    }

    func read(_ body: [UInt8]) throws(PayloadError) -> ProviderAnswer {
        let current = try JSONCoding.decode(Answer.self, from: body).currentWeather
        guard let time = Timestamp(iso8601: current.asOf) else { throw .malformed("asOf: not a time") }
        let attribution = WeatherAttribution(
            text: "Weather data by Apple Weather", url: current.metadata?.attributionURL ?? Self.attributionURL)
        return ProviderAnswer(
            observation: Observation(
                observedAt: time, temperature: current.temperature, apparentTemperature: current.temperatureApparent,
                humidity: current.humidity, windSpeed: current.windSpeed.map { $0 / 3.6 },
                condition: current.conditionCode.map(WeatherCondition.init(weatherKit:)) ?? .unknown,
                provider: Self.name, attribution: attribution),
            expiresAt: current.metadata?.expireTime.flatMap { Timestamp(iso8601: $0) })
    }

    private struct Answer: Decodable {
        struct Current: Decodable {
            let asOf: String
            let temperature: Double
            let temperatureApparent: Double?
            /// 0…1.
            let humidity: Double?
            /// km/h.
            let windSpeed: Double?
            let conditionCode: String?
            let metadata: Metadata?
        }

        struct Metadata: Decodable {
            let expireTime: String?
            let attributionURL: String?
        }

        let currentWeather: Current
    }
}

extension WeatherCondition {
    /// - Parameter code: a WeatherKit condition code; Apple may add new ones.
    init(weatherKit code: String) {
        self =
            switch code {
            case "Clear", "MostlyClear": .clear
            case "PartlyCloudy": .partlyCloudy
            case "Cloudy", "MostlyCloudy": .cloudy
            case "Foggy": .fog
            case "Haze", "Smoky", "BlowingDust": .haze
            case "Breezy", "Windy": .windy
            case "Drizzle": .drizzle
            case "Rain", "SunShowers": .rain
            case "HeavyRain": .heavyRain
            case "FreezingDrizzle", "FreezingRain": .freezingRain
            case "Sleet", "WintryMix": .sleet
            case "Snow", "Flurries", "SunFlurries": .snow
            case "HeavySnow", "BlowingSnow", "Blizzard": .heavySnow
            case "Hail": .hail
            case "Thunderstorms", "IsolatedThunderstorms", "ScatteredThunderstorms", "StrongStorms": .thunderstorm
            case "TropicalStorm", "Hurricane": .storm
            default: .unknown
            }
    }
}
