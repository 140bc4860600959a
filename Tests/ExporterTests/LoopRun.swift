import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import Exporter

/// The exporter's loop on a real store and a folder, its events handed to it one by one and its work done when the test
/// says.
struct LoopRun {
    let bus = RecordingBus()
    let store: RefusingStore
    let clock: ManualClock
    let log = LogRecorder()
    let folder: TemporaryFolder
    var loop: ExporterLoop

    /// Starts on the store in a folder, as a process does.
    init(_ folder: TemporaryFolder, clock: ManualClock = ManualClock()) async throws {
        self.clock = clock
        self.folder = folder
        store = RefusingStore(
            try SQLiteStore(
                path: folder.file("exporter.sqlite"), schema: ExportRecord.schema, shards: Set(Shard.all)))
        var targets = ExportTargets()
        targets.folder = FolderTarget(folder: folder.file("exports"), formats: ExportFormat.allCases) {
            $0.bytes(of: $1)
        }
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "exporter"), logger: log.logger, bus: bus, clock: clock)
        loop = ExporterLoop(context: context, targets: targets, store: store)
        for await change in store.ownership {
            try await loop.handle(.ownership(change))
            break
        }
        try await loop.handle(.connected)
    }

    /// Hands over an event and returns what was sent.
    @discardableResult
    mutating func handle(_ event: ServiceEvent, outcomes: [DeliveryOutcome] = []) async throws -> [MQTTMessage] {
        try await loop.handle(event, outcomes: outcomes)
        return bus.take()
    }

    /// Delivers messages in one batch and returns what was sent.
    @discardableResult
    mutating func deliver(_ messages: [MQTTMessage]) async throws -> [MQTTMessage] {
        try await handle(.batch(MQTTBatch(messages: messages) {}))
    }

    /// Lets time pass, tells what came of deliveries, and returns what was sent.
    @discardableResult
    mutating func pass(_ seconds: Double = 0, _ outcomes: [DeliveryOutcome] = []) async throws -> [MQTTMessage] {
        clock.advance(by: .seconds(seconds))
        return try await handle(.tick, outcomes: outcomes)
    }

    /// Brings what has come whole to the folder, and returns what came of it without telling the loop.
    mutating func work() async -> [DeliveryOutcome] {
        var outcomes: [DeliveryOutcome] = []
        for collected in loop.takeCollected() {
            await loop.targets.deliver(collected) { outcomes.append($0) }
        }
        return outcomes
    }

    var files: [String] {
        get throws { try RunningExporter.files(in: folder.file("exports")) }
    }

    /// The keys in the store.
    func stored(_ collection: StoreCollection) async throws -> [String] {
        try await store.records(in: collection, shards: Set(Shard.all)).map(\.key)
    }
}
