import Formats
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import Exporter

/// The exporter's loop on a real store and a folder. The test passes events one by one and decides when deliveries happen.
struct LoopRun {
    let bus = RecordingBus()
    let store: RefusingStore
    let clock: ManualClock
    let log = LogRecorder()
    let folder: TemporaryFolder
    var loop: ExporterLoop

    /// Starts on the store in a folder as a process does.
    ///
    /// - Parameters:
    ///   - others: targets besides the folder and HealthKit.
    ///   - store: another store, with a first change of ownership.
    init(
        _ folder: TemporaryFolder, clock: ManualClock = ManualClock(), others: [any ExportTarget] = [],
        store: (any Store)? = nil, bytesPerDay: Int = ExportConfiguration.standardBytesPerDay
    ) async throws {
        self.clock = clock
        self.folder = folder
        self.store = RefusingStore(
            try store
                ?? SQLiteStore(
                    path: folder.file("exporter.sqlite"), schema: ExportRecord.schema, shards: Set(Shard.all)))
        let targets = ExportTargets(
            [FolderTarget(folder: folder.file("exports"), formats: ExportFormat.allCases), HealthKitTarget()] + others)
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "exporter"), logger: log.logger, bus: bus, clock: clock)
        loop = ExporterLoop(
            context: context, targets: targets, store: self.store, folder: folder.file("exports"),
            bytesPerDay: bytesPerDay)
        for await change in self.store.ownership {
            try await handle(.ownership(change))
            break
        }
        try await handle(.connected)
    }

    /// Passes an event to the loop, performs its removals and returns the sent messages.
    @discardableResult
    mutating func handle(
        _ event: ServiceEvent, outcomes: [DeliveryOutcome] = [], files: [WrittenFile] = []
    ) async throws -> [MQTTMessage] {
        try await loop.handle(event, outcomes: outcomes, files: files)
        for job in loop.takeJobs() {
            switch job {
            case .deliver, .write: loop.jobs.append(job)
            case .remove(let keys): await loop.targets.remove(keys, log.logger)
            case .removeLeftovers(let epochs): await loop.targets.removeLeftovers(epochs, log.logger)
            }
        }
        return bus.take()
    }

    /// Passes messages in one batch and returns the sent messages.
    @discardableResult
    mutating func deliver(_ messages: [MQTTMessage]) async throws -> [MQTTMessage] {
        try await handle(.batch(MQTTBatch(messages: messages) {}))
    }

    /// Advances the clock, passes outcomes and returns the sent messages.
    @discardableResult
    mutating func pass(_ seconds: Double = 0, _ outcomes: [DeliveryOutcome] = []) async throws -> [MQTTMessage] {
        clock.advance(by: .seconds(seconds))
        return try await handle(.tick, outcomes: outcomes)
    }

    /// Performs the deliveries and returns their outcomes, which the loop has not received.
    mutating func work() async -> [DeliveryOutcome] { await Self.work(takeDeliveries(), loop.targets) }

    static func work(_ deliveries: [CollectedWork], _ targets: ExportTargets) async -> [DeliveryOutcome] {
        var outcomes: [DeliveryOutcome] = []
        for collected in deliveries { await targets.deliver(collected) { outcomes.append($0) } }
        return outcomes
    }

    /// The deliveries that would be in progress.
    mutating func takeDeliveries() -> [CollectedWork] {
        loop.takeJobs().compactMap { if case .deliver(let collected) = $0 { collected } else { nil } }
    }

    var files: [String] {
        get throws { try RunningExporter.files(in: folder.file("exports")) }
    }

    /// The keys in the store.
    func stored(_ collection: StoreCollection) async throws -> [String] {
        try await store.records(in: collection, shards: Set(Shard.all)).map(\.key)
    }
}
