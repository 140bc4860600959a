import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import SessionEngine

/// The engine's loop on a real store. The test passes its events one by one.
struct Engine {
    let bus = RecordingBus()
    let store: RefusingStore
    let clock: ManualClock
    private var loop: SessionEngineLoop
    /// The store's folder, which is removed with the last reference.
    private let folder: TemporaryFolder

    /// Starts on the store in a folder, like a process.
    init(
        _ folder: TemporaryFolder, clock: ManualClock, shards: Set<Shard> = Set(Shard.all), asksCoach: Bool = false,
        logger: Logger = .silent
    ) async throws {
        self.clock = clock
        self.folder = folder
        store = RefusingStore(
            try SQLiteStore(
                path: folder.file("engine.sqlite"), schema: SessionRecord.schema, shards: shards))
        var configuration = ServiceConfiguration(name: "session-engine")
        configuration.store = .sqlite(path: folder.file("engine.sqlite"))
        let context = ServiceContext(
            configuration: configuration, logger: logger, bus: bus, clock: clock)
        loop = SessionEngineLoop(context: context, store: store, asksCoach: asksCoach)
        for await change in store.ownership {
            try await loop.handle(.ownership(change))
            break
        }
        try await loop.handle(.connected)
        _ = bus.take()
    }

    /// Handles a change of ownership.
    mutating func own(_ change: OwnershipChange) async throws {
        try await loop.handle(.ownership(change))
    }

    /// Connects to an empty broker and returns the sent messages.
    mutating func connect() async throws -> [MQTTMessage] {
        try await loop.handle(.connected)
        return bus.take()
    }

    mutating func disconnect() async throws {
        try await loop.handle(.disconnected)
    }

    /// Delivers messages in one batch and returns the sent messages.
    mutating func deliver(_ messages: [MQTTMessage]) async throws -> [MQTTMessage] {
        try await loop.handle(.batch(MQTTBatch(messages: messages) {}))
        return bus.take()
    }

    mutating func tick() async throws -> [MQTTMessage] {
        try await loop.handle(.tick)
        return bus.take()
    }

    func profile(_ user: User) -> Profile? { loop.machine.users[user]?.profile }

    func record(_ key: SessionKey) -> SessionRecord? { loop.machine.entries[key]?.record }

    func session(_ key: SessionKey) -> Session? { loop.machine.entries[key]?.record.session }
}

extension [MQTTMessage] {
    /// The replies among the messages.
    var replies: [Reply] {
        compactMap { message in
            guard case .user(_, .replies)? = Topic(message.topic) else { return nil }
            return try? JSONCoding.decode(Reply.self, from: message.payload)
        }
    }
}
