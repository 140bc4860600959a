import Bus
import ServiceKit
import Timing
import Workouts

/// Open-Meteo: needs no key, free for non-commercial use.
///
/// Source: https://open-meteo.com/en/docs and https://open-meteo.com/en/terms.
struct OpenMeteo: WeatherProvider {
    static let name = "open-meteo"
    static let url = "https://api.open-meteo.com"
    /// 600 a minute and 10,000 a day for one address.
    static let budget = TokenBucket<Moment>(burst: 500, perSecond: 9_500 / 86_400)

    private static let attribution = WeatherAttribution(
        text: "Weather data by Open-Meteo.com (CC BY 4.0)", url: "https://open-meteo.com/")
    private static let fields =
        "temperature_2m,relative_humidity_2m,apparent_temperature,weather_code,wind_speed_10m"

    func path(_ cell: WeatherCell) -> String {
        "/v1/forecast?latitude=\(cell.latitude)&longitude=\(cell.longitude)&current=\(Self.fields)&timeformat=unixtime"
    }

    func headers(now: Timestamp) -> [String: String] { [:] }

    func read(_ body: [UInt8]) throws(PayloadError) -> ProviderAnswer {
        let current = try JSONCoding.decode(Answer.self, from: body).current
        let observation = Observation(
            observedAt: current.time, temperature: current.temperature,
            apparentTemperature: current.apparentTemperature,
            humidity: current.humidity.map { $0 / 100 },
            windSpeed: current.windSpeed.map { $0 / 3.6 },
            condition: current.weatherCode.map(WeatherCondition.init(wmo:)) ?? .unknown, provider: Self.name,
            attribution: Self.attribution)
        return ProviderAnswer(
            observation: observation, expiresAt: current.interval.map { Timestamp(seconds: current.time.seconds + $0) })
    }

    private struct Answer: Decodable {
        struct Current: Decodable {
            let time: Timestamp
            /// Seconds until the next values.
            let interval: Double?
            let temperature: Double
            let apparentTemperature: Double?
            /// Per cent.
            let humidity: Double?
            /// km/h.
            let windSpeed: Double?
            let weatherCode: Double?

            private enum CodingKeys: String, CodingKey {
                case time, interval
                case temperature = "temperature_2m"
                case apparentTemperature = "apparent_temperature"
                case humidity = "relative_humidity_2m"
                case windSpeed = "wind_speed_10m"
                case weatherCode = "weather_code"
            }
        }

        let current: Current
    }
}

extension WeatherCondition {
    /// - Parameter code: a WMO 4677 code from Open-Meteo's subset.
    init(wmo code: Double) {
        self =
            switch code {
            case 0, 1: .clear
            case 2: .partlyCloudy
            case 3: .cloudy
            case 45, 48: .fog
            case 51, 53, 55: .drizzle
            case 56, 57, 66, 67: .freezingRain
            case 61, 63, 80, 81: .rain
            case 65, 82: .heavyRain
            case 71, 73, 77, 85: .snow
            case 75, 86: .heavySnow
            case 95, 96, 99: .thunderstorm
            default: .unknown
            }
    }
}
