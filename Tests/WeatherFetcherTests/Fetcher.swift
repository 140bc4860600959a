import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import WeatherFetcher

/// The fetcher's loop on a real store, its events handed to it one by one and its requests answered by the test.
struct Fetcher {
    let bus = RecordingBus()
    let store: RefusingStore
    let clock: ManualClock
    private(set) var loop: WeatherFetcherLoop

    /// Starts on the store in a folder, as a process does.
    init(
        _ folder: TemporaryFolder, clock: ManualClock,
        machine: WeatherFetcherMachine = WeatherFetcherMachine(provider: "open-meteo"),
        random: any RandomNumberGenerator = SystemRandomNumberGenerator()
    ) async throws {
        self.clock = clock
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

    /// Delivers messages in one batch and returns what was sent.
    @discardableResult
    mutating func deliver(_ messages: MQTTMessage...) async throws -> [MQTTMessage] {
        try await loop.handle(.batch(MQTTBatch(messages: messages) {}))
        return bus.take()
    }

    /// Lets time pass.
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

    /// Answers a request and returns what was sent.
    @discardableResult
    mutating func answer(_ request: WeatherRequest, _ outcome: WeatherAnswer.Outcome) async throws -> [MQTTMessage] {
        try await tick(WeatherAnswer(cell: request.cell, outcome: outcome))
    }

    /// Answers a request with usual weather.
    @discardableResult
    mutating func answer(_ request: WeatherRequest, _ temperature: Double = 11.5) async throws -> [MQTTMessage] {
        try await answer(request, .observed(.sample(temperature, at: clock.now), Caching()))
    }

    mutating func connect() async throws -> [MQTTMessage] {
        try await loop.handle(.connected)
        return bus.take()
    }

    /// Another process works for all shards now.
    mutating func lose() async throws {
        try await loop.handle(.ownership(.lost(Set(Shard.all))))
    }

    mutating func requests() -> [WeatherRequest] { loop.requests() }
}
