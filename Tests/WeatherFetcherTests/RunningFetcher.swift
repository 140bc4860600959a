import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import TestSupport
import Workouts

@testable import WeatherFetcher

/// The service, built as the executable builds it, on a broker in this process and a clock that stands still.
struct RunningFetcher {
    let broker: InMemoryBroker
    let clock: ManualClock
    let metrics: PrometheusMetrics
    let log: LogRecorder
    private let client: InMemoryBus

    /// Runs the service while `body` runs, then shuts it down and waits for its end.
    static func run(
        _ weather: WeatherConfiguration, folder: TemporaryFolder, clock: ManualClock = ManualClock(),
        patience: Duration = WeatherSource.patience, _ body: (RunningFetcher) async throws -> Void
    ) async throws {
        let broker = InMemoryBroker()
        let log = LogRecorder()
        var configuration = ServiceConfiguration(name: "weather-fetcher")
        configuration.store = .sqlite(path: folder.file("weather.sqlite"))
        let context = ServiceContext(
            configuration: configuration, logger: log.logger, bus: broker.client(),
            clock: clock)
        var service = try WeatherFetcher.build(context, weather)
        service.patience = patience
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        async let ended: Void = group.run()
        let running = RunningFetcher(
            broker: broker, clock: clock, metrics: context.metrics, log: log, client: broker.client())
        do {
            try await clock.waitForSleepers()
            try await body(running)
            await group.triggerGracefulShutdown()
            try await ended
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
    }

    func send(_ messages: MQTTMessage...) async throws {
        try await client.send(messages)
    }

    /// Lets time pass at once, after what was sent has been handled.
    func pass(_ seconds: Double) async throws {
        try await settle()
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(seconds))
    }

    /// Returns when everything that was sent before has been handled: then the service clears what is nobody's weather.
    func settle() async throws {
        let topic = Topic.session(SampleSession("nobody", live: clock.now).key, .weather)
        try await client.send([topic.message([UInt8](#"{"revision":1}"#.utf8))])
        let isSettled = await eventually {
            broker.published.last { $0.topic == topic.name }.map(\.payload.isEmpty) ?? false
        }
        guard isSettled else { throw NotInTime() }
    }

    /// Waits for a condition while the service looks up again and again, though its clock stands still.
    func expectEventually(_ condition: () throws -> Bool) async throws {
        let isSo = try await eventually {
            try await settle()
            return try condition()
        }
        guard isSo else { throw NotInTime() }
    }

    /// Waits until the newest weather of a session satisfies the condition, with the service's clock standing still.
    func weather(of key: SessionKey, where condition: (Weather) -> Bool = { _ in true }) async throws -> Weather {
        var found: Weather?
        try await expectEventually {
            found = broker.retained(Topic.session(key, .weather).name)?.weather?.weather
            return found.map(condition) ?? false
        }
        guard let found else { throw NotInTime() }
        return found
    }

    /// How many requests came to this.
    func requests(_ outcome: String) -> Int {
        let line = metrics.render().split(separator: "\n").first {
            $0.hasPrefix("pacebus_weather_requests_total{outcome=\"\(outcome)\"}")
        }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }

    struct NotInTime: Error {}
}
