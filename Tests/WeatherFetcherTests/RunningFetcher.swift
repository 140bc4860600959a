import Bus
import MQTT
import TestSupport
import Workouts

@testable import WeatherFetcher

/// The whole fetcher.
typealias RunningFetcher = RunningService

extension RunningFetcher {
    /// Runs the service while `body` runs, then shuts it down and waits for its end.
    static func run(
        _ weather: WeatherConfiguration, folder: TemporaryFolder, clock: ManualClock = ManualClock(),
        timeout: Duration = hangLimit, _ body: (RunningFetcher) async throws -> Void
    ) async throws {
        try await run(
            "weather-fetcher", in: folder, storing: ("weather.sqlite", WeatherRecord.schema), clearing: .weather,
            clock: clock,
            build: { try WeatherFetcher.build($0, weather, store: $1, timeout: timeout) }, body)
    }

    /// Advances the clock after the service has handled all messages.
    func pass(_ seconds: Double) async throws {
        try await jump(seconds)
    }

    /// Waits until the newest weather of a session satisfies the condition. The service's clock does not advance.
    func weather(of key: SessionKey, where condition: (Weather) -> Bool = { _ in true }) async throws -> Weather {
        try await expectSome {
            let found = broker.retained(Topic.session(key, .weather).name)?.weather?.weather
            return found.flatMap { condition($0) ? $0 : nil }
        }
    }

    /// The number of requests with this outcome.
    func requests(_ outcome: String) -> Int {
        value(of: "pacebus_weather_requests_total{outcome=\"\(outcome)\"}") ?? 0
    }
}
