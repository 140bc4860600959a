import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import WeatherFetcher

struct WeatherValueTests {
    @Test(arguments: [
        (52.5163, 13.3777, "52.52", "13.38"), (0, 0, "0.00", "0.00"), (-0.004, -0.006, "0.00", "-0.01"),
        (-33.8688, 151.2093, "-33.87", "151.21"), (90, 180, "90.00", "-180.00"), (-90, -180, "-90.00", "-180.00"),
        (1.05, 179.999, "1.05", "-180.00"), (9.999, -0.05, "10.00", "-0.05"),
    ])
    func `a cell is the nearest point with two decimals`(la: Double, lo: Double, latitude: String, longitude: String) {
        let cell = WeatherCell(Place(la: la, lo: lo))
        #expect(cell.latitude == latitude)
        #expect(cell.longitude == longitude)
    }

    @Test(arguments: [-1e7, 0, 1e7])
    func `a circuit breaker stays open for the pause, wherever the wall clock steps`(step: Double) {
        let now = Moment(Timestamp(seconds: 1_735_689_600))
        var random = SeededRandom(seed: 7)
        var breaker = CircuitBreaker()
        breaker.failed(askedAt: now, now: now, pause: 3_600, using: &random)
        let stepped = now.stepped(by: step)
        #expect(breaker.isOpen(stepped + 3_599))
        #expect(!breaker.isOpen(stepped + 3_600))
        breaker.failed(askedAt: stepped + 3_600, now: stepped + 3_600, pause: 60, using: &random)
        #expect(breaker.failures == 2)
        #expect(breaker.isOpen(stepped + 3_659))
        #expect(!breaker.isOpen(stepped + 3_660))
    }

    @Test func `an unknown condition code maps to unknown`() throws {
        let word = { (text: String) in try JSONCoding.decode([WeatherCondition].self, from: Array("[\"\(text)\"]".utf8))
        }
        #expect(try word("frogs") == [.unknown])
        for condition in WeatherCondition.allCases { #expect(try word(condition.rawValue) == [condition]) }
    }

    @Test(arguments: [
        (0, WeatherCondition.clear), (2, .partlyCloudy), (3, .cloudy), (45, .fog), (53, .drizzle), (57, .freezingRain),
        (61, .rain), (65, .heavyRain), (73, .snow), (75, .heavySnow), (82, .heavyRain), (86, .heavySnow),
        (99, .thunderstorm), (4, .unknown), (-1, .unknown), (1e300, .unknown),
    ])
    func `WMO codes map to conditions`(code: Double, condition: WeatherCondition) {
        #expect(WeatherCondition(wmo: code) == condition)
    }

    @Test(arguments: [
        ("clearsky_polartwilight", WeatherCondition.clear), ("fair_night", .clear), ("partlycloudy_day", .partlyCloudy),
        ("cloudy", .cloudy), ("fog", .fog), ("lightrain", .rain), ("heavyrainshowers_day", .heavyRain),
        ("heavysnow", .heavySnow), ("lightsnowshowers_night", .snow), ("sleet", .sleet),
        ("lightssleetshowersandthunder_day", .thunderstorm), ("heavyrainandthunder", .thunderstorm), ("", .unknown),
        ("volcano", .unknown),
    ])
    func `MET Norway symbols map to conditions`(symbol: String, condition: WeatherCondition) {
        #expect(WeatherCondition(metSymbol: symbol) == condition)
    }

    @Test(arguments: [
        ("Clear", WeatherCondition.clear), ("MostlyCloudy", .cloudy), ("Foggy", .fog), ("Haze", .haze),
        ("Windy", .windy), ("Drizzle", .drizzle), ("SunShowers", .rain), ("HeavyRain", .heavyRain),
        ("FreezingDrizzle", .freezingRain), ("WintryMix", .sleet), ("Flurries", .snow), ("Blizzard", .heavySnow),
        ("Hail", .hail), ("StrongStorms", .thunderstorm), ("Hurricane", .storm), ("clear", .unknown), ("", .unknown),
    ])
    func `WeatherKit codes map to conditions`(code: String, condition: WeatherCondition) {
        #expect(WeatherCondition(weatherKit: code) == condition)
    }
}
