import AsyncHTTPClient
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import WeatherFetcher

/// Each provider's protocol, against a server that follows the providers' documentation.
@Suite(.timeLimit(.minutes(60))) struct WeatherSourceTests {
    private static let cell = WeatherCell(Place(la: 52.5163, lo: -13.3777))
    /// 2025-01-01T00:00:00Z, as on a manual clock.
    private static let time = Timestamp(seconds: 1_735_689_600)

    private func ask(
        _ provider: any WeatherProvider, _ server: WeatherServer, validator: String? = nil,
        timeout: Duration = hangLimit
    ) async throws -> WeatherAnswer.Outcome {
        try await HTTPClient.withHTTPClient(configuration: WeatherSource.http(timeout)) { client in
            let source = WeatherSource(
                provider, WeatherConfiguration(url: server.url, contact: "ops@example.org"), clock: ManualClock(),
                client: client, timeout: timeout)
            return await source.ask(WeatherRequest(cell: Self.cell, validator: validator)).outcome
        }
    }

    /// The observation of a successful request.
    private func observation(_ outcome: WeatherAnswer.Outcome) throws -> Observation {
        guard case .observed(let observation, _) = outcome else { throw Unexpected(outcome: outcome) }
        return observation
    }

    private struct Unexpected: Error {
        let outcome: WeatherAnswer.Outcome
    }

    @Test func `Open-Meteo is requested for the cell's center, and its units are converted`() async throws {
        let server = try await WeatherServer(#"{"values":{"interval":900,"code":63}}"#)
        let outcome = try await ask(OpenMeteo(), server)
        let expected = Observation(
            observedAt: Self.time, temperature: 11.5, apparentTemperature: 9.25, humidity: 0.6, windSpeed: 5,
            condition: .rain, provider: "open-meteo",
            attribution: WeatherAttribution(
                text: "Weather data by Open-Meteo.com (CC BY 4.0)", url: "https://open-meteo.com/"))
        #expect(outcome == .observed(expected, Caching(expiresAt: Self.time + 900)))
        let request = try #require(try server.requests.first)
        #expect(request.path == "/v1/forecast")
        #expect(request.query.hasPrefix("latitude=52.52&longitude=-13.38&current=temperature_2m,"))
    }

    @Test func `WeatherKit is requested with a token, and its expiry is kept`() async throws {
        let server = try await WeatherServer(#"{"values":{"expires":1735690500,"code":"ScatteredThunderstorms"}}"#)
        let key = try await WeatherKitKey()
        let outcome = try await ask(WeatherKit(token: WeatherKitToken(try key.account())), server)
        let expected = Observation(
            observedAt: Self.time, temperature: 11.5, apparentTemperature: 9.25, humidity: 0.6, windSpeed: 5,
            condition: .thunderstorm, provider: "weatherkit",
            attribution: WeatherAttribution(
                text: "Weather data by Apple Weather",
                url: "https://developer.apple.com/weatherkit/data-source-attribution/"))
        #expect(outcome == .observed(expected, Caching(expiresAt: Self.time + 900)))
        let request = try #require(try server.requests.first)
        #expect(request.path == "/api/v1/weather/en/52.52/-13.38")
        #expect(request.query == "dataSets=currentWeather")
    }

    @Test func `MET Norway receives the contact and conditional requests`() async throws {
        let server = try await WeatherServer(
            #"""
            {"modified":"Wed, 01 Jan 2025 00:00:00 GMT","headers":{"Expires":"Wed, 01 Jan 2025 00:31:07 GMT"},
             "values":{"code":"lightrainshowers_day"}}
            """#)
        let expected = Observation(
            observedAt: Self.time, temperature: 11.5, humidity: 0.6, windSpeed: 5, condition: .rain,
            provider: "met-norway",
            attribution: WeatherAttribution(text: "Data from MET Norway (CC BY 4.0)", url: "https://www.met.no/en"))
        let caching = Caching(expiresAt: Self.time + 1_867, validator: "Wed, 01 Jan 2025 00:00:00 GMT")
        #expect(try await ask(METNorway(), server) == .observed(expected, caching))
        #expect(try await ask(METNorway(), server, validator: caching.validator) == .unchanged(caching))
        let requests = try server.requests
        #expect(requests.map(\.query) == ["lat=52.52&lon=-13.38", "lat=52.52&lon=-13.38"])
        #expect(requests[0].headers["user-agent"] == "pacebus/0.1.0 (ops@example.org)")
        #expect(requests.map { $0.headers["if-modified-since"] } == [nil, "Wed, 01 Jan 2025 00:00:00 GMT"])
    }

    @Test(arguments: [
        ("open-meteo", #"{"values":{"code":42,"humidity":300,"wind":-4}}"#),
        ("weatherkit", #"{"values":{"code":"FrogRain","humidity":-1,"wind":9999}}"#),
        ("met-norway", #"{"values":{"code":"frograin?","humidity":101,"wind":1e9}}"#),
    ])
    func `an unknown condition is unknown, and implausible values are omitted`(
        name: String, step: String
    ) async throws {
        let observation = try observation(try await ask(try await Self.provider(name), try await WeatherServer(step)))
        #expect(observation.condition == (name == "met-norway" ? .rain : .unknown))
        #expect(observation.temperature == 11.5)
        #expect(observation.humidity == nil)
        #expect(observation.windSpeed == nil)
    }

    private static func provider(_ name: String) async throws -> any WeatherProvider {
        switch name {
        case "open-meteo": OpenMeteo()
        case "weatherkit": WeatherKit(token: WeatherKitToken(try await WeatherKitKey().account()))
        default: METNorway()
        }
    }

    @Test(arguments: ["open-meteo", "weatherkit", "met-norway"])
    func `every kind of failure is distinguished`(name: String) async throws {
        let provider = try await Self.provider(name)
        let server = try await WeatherServer("{}")
        func outcome(_ step: String) async throws -> WeatherAnswer.Outcome {
            try server.script(step)
            return try await ask(provider, server)
        }
        func kind(_ step: String) async throws -> WeatherFetchFailure.Kind? {
            guard case .failed(let failure) = try await outcome(step) else { return nil }
            return failure.kind
        }
        #expect(try await kind("{}") == nil)
        #expect(try await kind(#"{"values":{"interval":1e300}}"#) == nil)
        #expect(try await outcome(#"{"status":403}"#) == .failed(.refused(status: 403)))
        #expect(try await outcome(#"{"status":401}"#) == .failed(.refused(status: 401)))
        #expect(
            try await outcome(#"{"status":429,"headers":{"Retry-After":"77"}}"#)
                == .failed(.overloaded(status: 429, .seconds(77))))
        #expect(
            try await outcome(#"{"status":503,"headers":{"Retry-After":"Wed, 01 Jan 2025 00:02:00 GMT"}}"#)
                == .failed(.overloaded(status: 503, .date(Self.time + 120))))
        #expect(
            try await outcome(#"{"status":429,"headers":{"Retry-After":"soon"}}"#)
                == .failed(.overloaded(status: 429, nil)))
        #expect(try await outcome(#"{"status":500}"#) == .failed(.overloaded(status: 500, nil)))
        #expect(try await outcome(#"{"status":400}"#) == .failed(.unavailable(status: 400)))
        #expect(try await outcome(#"{"status":304}"#) == .failed(.unavailable(status: 304)))
        #expect(try await kind(#"{"kind":"half"}"#) == .unreachable)
        #expect(try await kind(#"{"kind":"close"}"#) == .unreachable)
        #expect(try await kind(#"{"kind":"nonsense"}"#) == .unreadable)
        #expect(try await kind(#"{"values":{"temperature":null}}"#) == .unreadable)
        #expect(try await kind(#"{"values":{"temperature":1e6}}"#) == .unreadable)
        #expect(try await kind(#"{"kind":"huge"}"#) == .unreadable)
        server.stop()
        #expect(try await kind("{}") == .unreachable)
    }

    @Test func `redirects are followed up to a limit`() async throws {
        let moved =
            #"{"status":302,"headers":{"Location":"/v1/forecast?latitude=1&longitude=2&current=temperature_2m&timeformat=unixtime"}}"#
        let server = try await WeatherServer(moved, "{}")
        #expect(try observation(try await ask(OpenMeteo(), server)).temperature == 11.5)
        try server.script(moved)
        guard case .failed(.unreachable) = try await ask(OpenMeteo(), server) else {
            Issue.record("the request continued")
            return
        }
    }

    @Test(arguments: ["hang", "drip"])
    func `a silent or slow provider times out`(kind: String) async throws {
        let server = try await WeatherServer(#"{"kind":"\#(kind)"}"#)
        let outcome = try await ask(OpenMeteo(), server, timeout: .milliseconds(200))
        guard case .failed(.unreachable) = outcome else { throw Unexpected(outcome: outcome) }
    }
}
