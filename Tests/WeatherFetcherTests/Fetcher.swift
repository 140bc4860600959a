import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import WeatherFetcher

/// The fetcher's loop on a real store. The test passes its events one by one and answers its requests.
struct Fetcher {
    let bus = RecordingBus()
    let store: RefusingStore
    let clock: ManualClock
    private(set) var loop: WeatherFetcherLoop
    /// The store's folder, which is removed with the last reference.
    private let folder: TemporaryFolder

    /// Starts on the store in a folder, like a process.
    init(
        _ folder: TemporaryFolder, clock: ManualClock,
        machine: WeatherFetcherMachine = WeatherFetcherMachine(provider: "open-meteo"),
        random: any RandomNumberGenerator = SystemRandomNumberGenerator()
    ) async throws {
        self.clock = clock
        self.folder = folder
        store = RefusingStore(
            try SQLiteStore(
                path: folder.file("weather.sqlite"), schema: WeatherRecord.schema, shards: Set(Shard.all)))
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "weather-fetcher"),
            logger: .silent, bus: bus, clock: clock)
        loop = WeatherFetcherLoop(context: context, machine: machine, store: store, random: random)
        for await change in store.ownership {
            try await loop.handle(.ownership(change))
            break
        }
        try await loop.handle(.connected)
    }

    /// Delivers messages in one batch and returns the sent messages.
    @discardableResult
    mutating func deliver(_ messages: MQTTMessage...) async throws -> [MQTTMessage] {
        try await loop.handle(.batch(MQTTBatch(messages: messages) {}))
        return bus.take()
    }

    /// Advances the clock.
    @discardableResult
    mutating func pass(_ seconds: Int = 0) async throws -> [MQTTMessage] {
        clock.advance(by: .seconds(seconds))
        return try await tick()
    }

    @discardableResult
    mutating func tick(_ answers: WeatherAnswer...) async throws -> [MQTTMessage] {
        try await loop.handle(.tick, answers: answers)
        return bus.take()
    }

    /// Answers a request and returns the sent messages.
    @discardableResult
    mutating func answer(_ request: WeatherRequest, _ outcome: WeatherAnswer.Outcome) async throws -> [MQTTMessage] {
        try await tick(WeatherAnswer(cell: request.cell, outcome: outcome))
    }

    /// Answers a request with sample weather.
    @discardableResult
    mutating func answer(_ request: WeatherRequest, _ temperature: Double = 11.5) async throws -> [MQTTMessage] {
        try await answer(request, .observed(.sample(temperature, at: clock.now), Caching()))
    }

    mutating func connect() async throws -> [MQTTMessage] {
        try await loop.handle(.connected)
        return bus.take()
    }

    /// Loses all shards to another process.
    mutating func lose() async throws {
        try await loop.handle(.ownership(.lost(Set(Shard.all))))
    }

    mutating func requests() -> [WeatherRequest] { loop.requests() }
}
