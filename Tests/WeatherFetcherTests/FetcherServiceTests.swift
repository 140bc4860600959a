import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import WeatherFetcher

/// The running service, with a provider on loopback.
@Suite(.timeLimit(.minutes(60))) struct FetcherServiceTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `weather follows the first position, is renewed after five minutes, and its last value stays`()
        async throws
    {
        let server = try await WeatherServer(
            #"{"values":{"temperature":10,"interval":300}}"#,
            #"{"values":{"temperature":12,"interval":300,"time":1735689900}}"#)
        try await RunningFetcher.run(WeatherConfiguration(url: server.url), folder: folder) { fetcher in
            var session = SampleSession(live: fetcher.clock.now)
            try await fetcher.send(session.message)
            try await fetcher.send(session.heard(SampleSession.berlin))
            let first = try await fetcher.weather(of: session.key)
            #expect(first.temperature == 10)
            #expect(first.condition == .cloudy)
            #expect(first.provider == "open-meteo")
            #expect(first.fetchedAt == fetcher.clock.now)

            try await fetcher.pass(299)
            try await fetcher.send(session.heard(Place(la: 48, lo: 11)))
            try await fetcher.pass(0.9)
            try await fetcher.settle()
            #expect(try server.requests.count == 1)
            try await fetcher.pass(0.1)
            let second = try await fetcher.weather(of: session.key) { $0.temperature == 12 }
            #expect(second.revision > first.revision)
            #expect(try server.requests.count == 2)
            #expect(try server.requests.allSatisfy { $0.query.hasPrefix("latitude=52.52&longitude=13.38&") })

            try await fetcher.send(session.become(.completed, now: fetcher.clock.now))
            try await fetcher.pass(1_000)
            try await fetcher.pass(1)
            try await fetcher.settle()
            #expect(try server.requests.count == 2)
            let standing = try #require(fetcher.broker.retained(Topic.session(session.key, .weather).name))
            #expect(standing.weather?.weather == second)
        }
    }

    @Test func `a thousand runners in a park are one request`() async throws {
        let server = try await WeatherServer(#"{"delay":0.05}"#)
        try await RunningFetcher.run(WeatherConfiguration(url: server.url), folder: folder) { fetcher in
            let sessions = (0..<1_000).map {
                SampleSession("u\($0)", place: SampleSession.berlin, live: fetcher.clock.now)
            }
            for session in sessions { try await fetcher.send(session.message) }
            for session in sessions { _ = try await fetcher.weather(of: session.key) }
            #expect(try server.requests.count == 1)
        }
    }

    @Test(arguments: [
        #"{"kind":"hang"}"#, #"{"status":500}"#, #"{"kind":"nonsense"}"#, #"{"kind":"half"}"#,
        #"{"status":429,"headers":{"Retry-After":"30"}}"#,
    ])
    func `a failing provider blocks nothing, is reported and is requested again`(trouble: String) async throws {
        let server = try await WeatherServer(trouble, "{}")
        try await RunningFetcher.run(
            WeatherConfiguration(url: server.url), folder: folder, timeout: .seconds(3)
        ) { fetcher in
            let session = SampleSession(place: SampleSession.berlin, live: fetcher.clock.now)
            try await fetcher.send(session.message)
            try await fetcher.expectEventually { try server.requests.count == 1 }
            // Other work continues meanwhile.
            try await fetcher.settle()
            try await fetcher.expectEventually { fetcher.log.lines.contains { $0.hasPrefix("warning") } }
            try await fetcher.pass(31)
            _ = try await fetcher.weather(of: session.key)
            #expect(try server.requests.count == 2)
            let logged = fetcher.log.lines.filter { $0.hasPrefix("warning") || $0.hasPrefix("notice") }
            #expect(logged.count == 2)
            #expect(logged.last?.hasPrefix("notice weather requests succeed again") == true)
        }
    }

    @Test func `a refusing provider is logged in one line and gets no requests for an hour`() async throws {
        let server = try await WeatherServer(#"{"status":403}"#, #"{"status":403}"#, "{}")
        try await RunningFetcher.run(WeatherConfiguration(url: server.url), folder: folder) { fetcher in
            var session = SampleSession(place: SampleSession.berlin, live: fetcher.clock.now)
            try await fetcher.send(session.message)
            try await fetcher.expectEventually { fetcher.log.lines.contains { $0.hasPrefix("error") } }
            for _ in 0..<10 { try await fetcher.pass(350) }
            #expect(try server.requests.count == 1)
            try await fetcher.pass(101)
            try await fetcher.expectEventually { fetcher.requests("refused") == 2 }
            #expect(fetcher.log.lines.count { $0.hasPrefix("error") || $0.hasPrefix("warning") } == 1)
            try await fetcher.pass(3_700)
            try await fetcher.send(session.become(.active, now: fetcher.clock.now))
            _ = try await fetcher.weather(of: session.key)
        }
    }

    @Test func `without a provider no requests are made, and retained values stay`() async throws {
        let server = try await WeatherServer("{}")
        let clock = ManualClock()
        let session = SampleSession(place: SampleSession.berlin, live: clock.now)
        var weather: Weather?
        try await RunningFetcher.run(WeatherConfiguration(url: server.url), folder: folder, clock: clock) { fetcher in
            try await fetcher.send(session.message)
            weather = try await fetcher.weather(of: session.key)
        }
        try await RunningFetcher.run(
            WeatherConfiguration(source: .none, url: server.url), folder: folder, clock: clock
        ) { fetcher in
            #expect(try await fetcher.weather(of: session.key) == weather)
            try await fetcher.send(session.message)
            try await fetcher.pass(1_500)
            _ = try await fetcher.weather(of: session.key) { $0.isStale }
            #expect(try server.requests.count == 1)
        }
    }

    @Test func `logs and requests contain no exact position`() async throws {
        let server = try await WeatherServer(#"{"status":500}"#, "{}")
        try await RunningFetcher.run(WeatherConfiguration(url: server.url), folder: folder) { fetcher in
            let place = Place(la: 52.516275, lo: 13.377704)
            let session = SampleSession(place: place, live: fetcher.clock.now)
            try await fetcher.send(session.message)
            try await fetcher.expectEventually { fetcher.log.lines.contains { $0.hasPrefix("warning") } }
            try await fetcher.pass(10)
            _ = try await fetcher.weather(of: session.key)
            #expect(!fetcher.log.lines.contains { $0.contains("52.5") || $0.contains("13.3") })
            #expect(try server.requests.allSatisfy { $0.query.contains("latitude=52.52&longitude=13.38&") })
        }
    }

    @Test func `promtool accepts the metrics, and they count each outcome`() async throws {
        let server = try await WeatherServer(#"{"status":500}"#, "{}")
        try await RunningFetcher.run(WeatherConfiguration(url: server.url), folder: folder) { fetcher in
            let session = SampleSession(place: SampleSession.berlin, live: fetcher.clock.now)
            try await fetcher.send(
                session.message, MQTTMessage(topic: "pacebus/v1/nonsense", payload: [1], qos: .atLeastOnce))
            try await fetcher.send(Topic.session(session.key, .weather).message([1]))
            try await fetcher.expectEventually { fetcher.log.lines.contains { $0.hasPrefix("warning") } }
            try await fetcher.pass(10)
            try await fetcher.expectEventually { fetcher.metrics.render().contains("weather_provider_up 0") }
            _ = try await fetcher.weather(of: session.key)
            try await fetcher.pass(1)
            try await fetcher.expectEventually { fetcher.metrics.render().contains("weather_provider_up 1") }
            let text = fetcher.metrics.render()
            for line in [
                #"pacebus_weather_requests_total{outcome="observed"} 1"#,
                #"pacebus_weather_requests_total{outcome="overloaded"} 1"#,
                #"pacebus_weather_rejected_total{reason="malformed"} 1"#, "pacebus_weather_sessions 1",
                "pacebus_weather_cells 1", "pacebus_weather_provider_up 1",
            ] {
                #expect(text.contains("\n\(line)\n"), "\(line)")
            }
            guard let verdict = try Promtool.check(text) else { return print("skipped: promtool is not on the PATH") }
            #expect(verdict == "exit 0\n")
        }
    }
}
