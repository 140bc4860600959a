import Bus
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import WeatherFetcher

/// Three live sessions in three places, and a deleted one.
struct WeatherStorm: StormService {
    static let name = "weather-fetcher"
    static let schema = WeatherRecord.schema
    static let plan = OwnershipPlan.single
    private var loop: WeatherFetcherLoop
    private let clock: any WallClock
    private var answers: [WeatherAnswer] = []

    init(_ context: ServiceContext, _ store: any Store) {
        clock = context.clock
        loop = WeatherFetcherLoop(
            context: context, machine: WeatherFetcherMachine(provider: "open-meteo"), store: store,
            random: SeededRandom(seed: 1))
    }

    mutating func handle(_ event: ServiceEvent) async throws {
        try await loop.handle(event, answers: answers)
        answers = loop.requests().map { request in
            WeatherAnswer(
                cell: request.cell, outcome: .observed(Self.observation(in: request.cell, at: clock.now), Caching()))
        }
    }

    /// Weather that depends only on the place.
    private static func observation(in cell: WeatherCell, at time: Timestamp) -> Observation {
        Observation(
            observedAt: time, temperature: Double("\(cell)".utf8.reduce(0) { $0 &+ Int($1) } % 30), condition: .cloudy,
            provider: "open-meteo", attribution: WeatherAttribution(text: "Weather data", url: "https://example.org/"))
    }

    static func scripts(at start: Timestamp) -> [StormScript] {
        (1...4).map { number in
            var script = StormScript(number)
            var begin = SessionStart(activity: .running, countdown: 0)
            begin.place = Place(la: Double(number), lo: 13)
            var state = Session(key: script.key, start: begin, at: start, now: start)
                .state(revision: start.milliseconds, lastActiveAt: start)
            state.expiresAt = nil
            script.retain(.state, state)
            state.revision += 1
            state.status = number == 4 ? .deleted : .paused
            script.retain(.state, state)
            return script
        }
    }

    static func stored(_ disk: StormDisk) throws -> StoredState {
        var stored = StoredState()
        for (key, record) in try disk.sessions(WeatherRecord.sessions, WeatherRecord.self) {
            stored.raise(.session(key, .weather), record.revision)
            stored.note(key.user, [record.reading?.observation.temperature])
        }
        return stored
    }
}
