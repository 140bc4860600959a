import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// The weather through the whole system, from the test's own provider.
struct WeatherTests {
    @Test(.timeLimit(.minutes(60)))
    func `a live session's weather is in its workout`() async throws {
        let server = try await WeatherServer("{}")
        defer { server.stop() }
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let installation = try await Installation()
        try installation.fetchWeather(from: server.url)
        let (weather, workout) = try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try Installation.run(
                "device",
                [
                    "simulate", "--duration", "3", "--user", "\(key.user)", "--session", "\(key.session)",
                    "--queue-folder",
                    installation.folder.file("queue"), "--mqtt-url", "mqtt://127.0.0.1:\(installation.broker.port)",
                ], log: installation.folder.file("device.log"))
            let payload = try await observer.wait(for: Topic.session(key, .weather).name) { !$0.isEmpty }
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            let record = try await observer.wait(for: Topic.session(key, .workout).name) { payload in
                (try? JSONCoding.decode(WorkoutRecord.self, from: payload))?.weather != nil
            }
            return (
                try JSONCoding.decode(Weather.self, from: payload),
                try JSONCoding.decode(WorkoutRecord.self, from: record)
            )
        }
        #expect(workout.weather?.temperature == weather.temperature)
        #expect(workout.weather?.provider == "open-meteo")
        #expect(!weather.attribution.text.isEmpty)
        let request = try #require(try server.requests.first)
        // Requests contain the place in steps of 0.01 degrees only.
        #expect(request.query.contains(/latitude=-?[0-9]+\.[0-9]{1,3}&/))
    }
}
