import Foundation
package import MQTT
package import ServiceKit
package import Storage
package import Streams
import Workouts

/// The loop of a stream owner. The test passes its events one by one.
package struct StreamOwner<Work: StreamWork> {
    package let bus = RecordingBus()
    package let store: RefusingStore
    package let clock: ManualClock
    package private(set) var loop: StreamLoop<Work>
    /// Whether jobs run with the event that starts them.
    package var runsJobs = true
    /// The jobs that were started and not run.
    package private(set) var jobs: [StreamJob<Work>] = []
    /// The ends of jobs that were run and not delivered.
    package private(set) var ends: [StreamJob<Work>.End] = []
    /// The store's folder, which is removed with the last reference.
    private var folder: TemporaryFolder?

    /// Starts on the store in a folder, like a process.
    package init(
        _ folder: TemporaryFolder, clock: ManualClock, bounds: StreamBounds = StreamBounds()
    ) async throws {
        let store = try SQLiteStore(
            path: folder.file("\(Work.service).sqlite"), schema: StreamStore.schema(Work.service),
            shards: Set(Shard.all), reserveSize: 4_096)
        try await self.init(store, clock: clock, bounds: bounds)
        self.folder = folder
    }

    /// Starts on a store that has gained its first shards.
    package init(
        _ store: any Store, clock: ManualClock, bounds: StreamBounds = StreamBounds()
    ) async throws {
        self.clock = clock
        self.store = RefusingStore(store)
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: Work.service), logger: .silent, bus: bus,
            clock: clock)
        loop = StreamLoop(context: context, store: self.store, bounds: bounds)
        for await change in store.ownership {
            try await loop.handle(.ownership(change))
            break
        }
        try await loop.handle(.connected)
    }

    /// Handles an event and returns the sent messages.
    @discardableResult
    package mutating func handle(_ event: ServiceEvent) async throws -> [MQTTMessage] {
        try await loop.handle(event)
        jobs += loop.takeJobs()
        while runsJobs, !jobs.isEmpty { try await perform(.zero) }
        return bus.take()
    }

    /// Runs a started job.
    package mutating func runJob(_ index: Int = 0) async { ends.append(await jobs.remove(at: index).run(store)) }

    /// Delivers the end of a job with a tick, after running one if none has ended. Returns the sent messages.
    ///
    /// - Parameter cost: the duration of the job.
    @discardableResult
    package mutating func endJob(cost: Duration = .zero) async throws -> [MQTTMessage] {
        try await perform(cost)
        return bus.take()
    }

    private mutating func perform(_ cost: Duration) async throws {
        if ends.isEmpty { await runJob() }
        var end = ends.removeFirst()
        end.cost = cost
        try await loop.handle(.tick, ends: [end])
        jobs += loop.takeJobs()
    }

    /// Delivers messages in one batch and returns the sent messages.
    @discardableResult
    package mutating func deliver(_ messages: [MQTTMessage]) async throws -> [MQTTMessage] {
        try await handle(.batch(MQTTBatch(messages: messages) {}))
    }

    @discardableResult
    package mutating func tick() async throws -> [MQTTMessage] { try await handle(.tick) }

    package mutating func connect() async throws -> [MQTTMessage] { try await handle(.connected) }
}
