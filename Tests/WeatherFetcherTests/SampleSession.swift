import Bus
import Foundation
import MQTT
import Workouts

@testable import WeatherFetcher

/// The messages of a session.
struct SampleSession {
    static let berlin = Place(la: 52.5163, lo: 13.3777)

    let key: SessionKey
    private(set) var state: SessionState

    /// Begins at a time of the engine's clock.
    init(
        _ user: String = "anna", place: Place? = nil, environment: Workouts.Environment? = nil, at: Timestamp,
        now: Timestamp
    ) {
        key = SessionKey(User(user)!, SessionID(UUID()))
        var start = SessionStart(activity: .running, countdown: 0)
        start.place = place
        start.environment = environment
        state = Session(key: key, start: start, at: at, now: now).state(
            revision: now.milliseconds, lastActiveAt: now)
    }

    init(
        _ user: String = "anna", place: Place? = nil, environment: Workouts.Environment? = nil, live now: Timestamp
    ) {
        self.init(user, place: place, environment: environment, at: now, now: now)
    }

    /// The retained state.
    var message: MQTTMessage { Topic.session(key, .state).message(JSONCoding.encode(state)) }

    /// Changes the status and returns the state.
    mutating func become(_ status: SessionStatus, now: Timestamp) -> MQTTMessage {
        state.status = status
        state.revision = max(state.revision + 1, now.milliseconds)
        state.lastActiveAt = now
        state.expiresAt = now + Session.expiry
        return message
    }

    /// A report of locations with a position.
    func heard(_ place: Place) -> MQTTMessage {
        var heard = Heard(revision: 1_735_689_600_000, count: 1)
        heard.position = Coordinate(latitude: place.la, longitude: place.lo)
        return Topic.session(key, .heard(.locations)).message(heard.payload)
    }
}

extension MQTTMessage {
    /// The session and the weather in the message; `nil` for another topic, and no weather if it is cleared.
    var weather: (key: SessionKey, weather: Weather?)? {
        guard case .session(let key, .weather)? = Topic(topic) else { return nil }
        return (key, payload.isEmpty ? nil : try? JSONCoding.decode(Weather.self, from: payload))
    }
}

extension [MQTTMessage] {
    /// The published weather of a session, in order; `nil` where it was cleared.
    func weather(_ key: SessionKey) -> [Weather?] { compactMap(\.weather).filter { $0.key == key }.map(\.weather) }
}

extension Observation {
    /// The default answer of a provider.
    static func sample(_ temperature: Double = 11.5, at time: Timestamp) -> Observation {
        Observation(
            observedAt: time, temperature: temperature, apparentTemperature: 9.25, humidity: 0.6, windSpeed: 5,
            condition: .cloudy, provider: "open-meteo",
            attribution: WeatherAttribution(text: "Weather data", url: "https://example.org/"))
    }
}
