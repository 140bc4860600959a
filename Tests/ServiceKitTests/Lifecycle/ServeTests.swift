import Foundation
import MQTT
import ServiceLifecycle
import Storage
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import ServiceKit

@Suite(.timeLimit(.minutes(60))) struct ServeTests {
    /// The events of a service under test.
    private final class Record: Sendable {
        private let seen = Mutex<[String]>([])

        var events: [String] { seen.withLock { $0 } }
        var withoutTicks: [String] { events.filter { $0 != "tick" } }
        var ticks: Int { events.count { $0 == "tick" } }

        func note(_ event: ServiceEvent) {
            let text =
                switch event {
                case .ownership(.gained(let epochs)): "gained \(epochs.count)"
                case .ownership(.releasing(let shards)): "releasing \(shards.count)"
                case .ownership(.lost(let shards)): "lost \(shards.count)"
                case .announce(let shards): "announce \(shards.count)"
                case .connected: "connected"
                case .disconnected: "disconnected"
                case .batch(let batch): "batch " + batch.messages.map(\.topic).joined(separator: " ")
                case .tick: "tick"
                }
            seen.withLock { $0.append(text) }
        }
    }

    /// Records `stopReading`.
    private final class WatchedBus: MessageBus {
        private let bus: InMemoryBus
        private let stopped = Mutex(false)

        init(_ bus: InMemoryBus) {
            self.bus = bus
        }

        var hasStopped: Bool { stopped.withLock { $0 } }

        func withSubscriptions<R: Sendable>(
            _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
        ) async throws -> R { try await bus.withSubscriptions(subscriptions, body) }

        func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {
            bus.setSubscriptions(subscriptions, renewing: renewed)
        }

        func publish(_ message: MQTTMessage) async throws(MQTTError) { try await bus.publish(message) }

        func send(_ messages: [MQTTMessage], while isCurrent: MessageCheck?) async throws(MQTTError) {
            try await bus.send(messages, while: isCurrent)
        }

        func flush() async { await bus.flush() }

        func stopReading() {
            bus.stopReading()
            stopped.withLock { $0 = true }
        }
    }

    /// Runs `serve` as a service while `body` runs, then shuts it down gracefully and waits for its end.
    ///
    /// Shard 01 needs the topics below `in/01`, and so on; with all shards it is `in/+`.
    private func withServing(
        _ bus: any MessageBus, clock: any WallClock, store: any Store = MemoryStore.owningAll(),
        _ body: (Record, ServiceGroup) async throws -> Void,
        handle: @escaping @Sendable (ServiceEvent) async throws -> Void = { event in
            if case .batch(let batch) = event { batch.finish() }
        }
    ) async throws -> Record {
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "test"), logger: .silent, bus: bus, clock: clock)
        let record = Record()
        let service = Serving {
            try await context.serve(
                store: store,
                subscriptions: { shards in
                    let filters = shards.count == 256 ? ["in/+"] : shards.map { "in/\($0)/+" }
                    return filters.map { MQTTSubscription(filter: $0, qos: .atLeastOnce) }
                }
            ) { event in
                record.note(event)
                try await handle(event)
            }
        }
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: .silent))
        async let ended: Void = group.run()
        do {
            try await body(record, group)
            await group.triggerGracefulShutdown()
            try await ended
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
        return record
    }

    private struct Serving: Service {
        let body: @Sendable () async throws -> Void

        func run() async throws { try await body() }
    }

    private struct NotInTime: Error {}

    private func expectEventually(_ condition: () -> Bool) async throws {
        guard await eventually({ condition() }) else { throw NotInTime() }
    }

    private func message(_ topic: String) -> MQTTMessage {
        MQTTMessage(topic: topic, payload: [1], qos: .atLeastOnce)
    }

    @Test func `ownership comes first, then connections and batches in order`() async throws {
        let broker = InMemoryBroker()
        let bus = broker.client()
        _ = try await withServing(bus, clock: ManualClock()) { record, _ in
            try await expectEventually { record.events.count == 2 }
            try await broker.client().send([message("in/1")])
            try await expectEventually { record.events.count == 3 }
            bus.cut()
            bus.connect()
            try await expectEventually { record.events.count == 5 }
            #expect(
                record.events == [
                    "gained \(Shard.all.count)", "connected", "batch in/1", "disconnected", "connected",
                ])
        }
    }

    @Test func `ticks arrive one at a time, 100 ms apart`() async throws {
        let clock = ManualClock()
        _ = try await withServing(InMemoryBroker().client(), clock: clock) { record, _ in
            for tick in 0..<5 {
                try await clock.waitForSleepers()
                #expect(record.ticks == tick)
                clock.advance(by: .milliseconds(99))
                #expect(clock.sleeperCount == 1)
                clock.advance(by: .milliseconds(1))
                try await expectEventually { record.ticks == tick + 1 }
            }
            try await clock.waitForSleepers()
            // After the machine sleeps, missed ticks are not repeated.
            clock.advance(by: .seconds(3_600))
            try await clock.waitForSleepers()
            try await expectEventually { record.ticks == 6 }
        }
    }

    @Test(arguments: [-3_600, 3_600])
    func `a wall clock that steps by an hour neither stops the ticks nor adds any`(seconds: Int) async throws {
        let clock = ManualClock()
        _ = try await withServing(InMemoryBroker().client(), clock: clock) { record, _ in
            for tick in 0..<6 {
                try await clock.waitForSleepers()
                if tick == 3 { clock.step(by: .seconds(seconds)) }
                #expect(record.ticks == tick)
                clock.advance(by: .milliseconds(100))
                try await expectEventually { record.ticks == tick + 1 }
            }
        }
    }

    @Test func `graceful shutdown stops reading, handles read batches and returns`() async throws {
        let broker = InMemoryBroker()
        let bus = WatchedBus(broker.client())
        let unfinished = Mutex<MQTTBatch?>(nil)
        let record = try await withServing(bus, clock: ManualClock()) { record, group in
            let other = broker.client()
            try await expectEventually { record.events.count == 2 }
            try await other.send([message("in/1")])
            try await expectEventually { record.events.count == 3 }
            try await other.send([message("in/2")])
            await group.triggerGracefulShutdown()
            try await expectEventually { bus.hasStopped }
            try await other.send([message("in/3")])
            unfinished.withLock { $0.take() }?.finish()
        } handle: { event in
            guard case .batch(let batch) = event else { return }
            if batch.messages[0].topic == "in/1" {
                unfinished.withLock { $0 = batch }
            } else {
                batch.finish()
            }
        }
        #expect(record.withoutTicks.suffix(2) == ["batch in/1", "batch in/2"])
    }

    @Test func `an error of the handler ends serve`() async throws {
        struct Refused: Error {}
        await #expect(throws: Refused.self) {
            _ = try await withServing(InMemoryBroker().client(), clock: ManualClock()) { record, _ in
                try await expectEventually { record.events.count == 2 }
            } handle: { event in
                if case .connected = event { throw Refused() }
            }
        }
    }

    // MARK: Ownership

    private let one = Shard(1)
    private let two = Shard(2)

    /// A store that owns these shards from the start.
    private func store(_ shards: Set<Shard>) -> MemoryStore {
        let store = MemoryDatabase().replica()
        store.gain(shards)
        return store
    }

    @Test func `a service that starts without shards is connected, gains some repeatedly, and announces them`()
        async throws
    {
        let (broker, store) = (InMemoryBroker(), store([]))
        let other = broker.client()
        var retained = message("in/02/old")
        retained.retain = true
        try await other.send([retained])
        let record = try await withServing(broker.client(), clock: ManualClock(), store: store) { record, _ in
            try await expectEventually { record.events.count == 2 }
            try await other.send([message("in/01/early")])
            store.gain([one])
            try await expectEventually { record.events.count == 4 }
            try await other.send([message("in/01/a"), message("in/02/early")])
            try await expectEventually { record.events.count == 5 }
            store.gain([two])
            try await expectEventually { record.events.count == 8 }
        }
        #expect(
            record.events == [
                "gained 0", "connected", "gained 1", "announce 1", "batch in/01/a", "gained 1", "batch in/02/old",
                "announce 1",
            ])
    }

    @Test func `shards are released after their read messages are handled`() async throws {
        let (broker, store) = (InMemoryBroker(), store([one, two]))
        let held = Mutex<MQTTBatch?>(nil)
        let record = try await withServing(broker.client(), clock: ManualClock(), store: store) { record, _ in
            let other = broker.client()
            try await expectEventually { record.events.count == 2 }
            try await other.send([message("in/01/a")])
            try await expectEventually { held.withLock { $0 != nil } }
            try await other.send([message("in/01/b")])
            store.release([one])
            #expect(store.owned == [one, two])
            held.withLock { $0.take() }?.finish()
            try await expectEventually { store.owned == [two] }
            try await other.send([message("in/01/c"), message("in/02/d")])
            try await expectEventually { record.events.last == "batch in/02/d" }
        } handle: { event in
            guard case .batch(let batch) = event else { return }
            if batch.messages[0].topic == "in/01/a" {
                held.withLock { $0 = batch }
            } else {
                batch.finish()
            }
        }
        #expect(
            record.events == [
                "gained 2", "connected", "batch in/01/a", "batch in/01/b", "releasing 1", "batch in/02/d",
            ])
    }

    @Test func `lost shards are dropped at once, also in the middle of a release`() async throws {
        let (broker, store) = (InMemoryBroker(), store([one, two]))
        let held = Mutex<MQTTBatch?>(nil)
        let record = try await withServing(broker.client(), clock: ManualClock(), store: store) { record, _ in
            let other = broker.client()
            try await expectEventually { record.events.count == 2 }
            try await other.send([message("in/02/a")])
            try await expectEventually { held.withLock { $0 != nil } }
            try await other.send([message("in/02/b")])
            store.release([one])
            store.lose([one])
            try await expectEventually { record.events.last == "lost 1" }
            held.withLock { $0.take() }?.finish()
            try await expectEventually { record.events.last == "batch in/02/b" }
            try await other.send([message("in/01/c"), message("in/02/d")])
            try await expectEventually { record.events.last == "batch in/02/d" }
        } handle: { event in
            guard case .batch(let batch) = event else { return }
            if batch.messages[0].topic == "in/02/a" {
                held.withLock { $0 = batch }
            } else {
                batch.finish()
            }
        }
        #expect(!record.events.contains("releasing 1"))
    }

    @Test func `shards gained without a connection are announced by the next alone`() async throws {
        let (broker, store) = (InMemoryBroker(), store([]))
        let bus = broker.client()
        let record = try await withServing(bus, clock: ManualClock(), store: store) { record, _ in
            try await expectEventually { record.events.count == 2 }
            bus.cut()
            try await expectEventually { record.events.count == 3 }
            store.gain([one])
            try await expectEventually { record.events.count == 4 }
            bus.connect()
            try await expectEventually { record.events.count == 5 }
            try await broker.client().send([message("in/01/a")])
            try await expectEventually { record.events.count == 6 }
        }
        #expect(
            record.events == ["gained 0", "connected", "disconnected", "gained 1", "connected", "batch in/01/a"])
    }

    @Test func `shards gained under a new epoch are dropped first`() async throws {
        let (broker, store) = (InMemoryBroker(), store([one, two]))
        _ = try await withServing(broker.client(), clock: ManualClock(), store: store) { record, _ in
            try await expectEventually { record.events.count == 2 }
            store.gain([one])
            try await expectEventually { record.events.count == 5 }
            #expect(record.events.suffix(3) == ["lost 1", "gained 1", "announce 1"])
        }
    }

    @Test func `an event whose reads fail is handled again, with growing delays`() async throws {
        let clock = ManualClock()
        let times = Mutex<[Timestamp]>([])
        let broker = InMemoryBroker()
        _ = try await withServing(broker.client(), clock: clock) { record, _ in
            try await expectEventually { record.withoutTicks.count == 2 }
            try await broker.client().send([message("in/1")])
            let isDone = await eventually {
                clock.advance(by: .milliseconds(10))
                return times.withLock { $0.count == 4 }
            }
            #expect(isDone)
        } handle: { event in
            guard case .batch(let batch) = event else { return }
            let count = times.withLock { times in
                times.append(clock.now)
                return times.count
            }
            guard count == 4 else { throw StoreError.notReadable("disk I/O error") }
            batch.finish()
        }
        let seen = times.withLock { $0 }
        let delays = zip(seen, seen.dropFirst()).map { $1.seconds(since: $0) }
        #expect(delays.count == 3 && zip(delays, [0.1, 0.2, 0.4]).allSatisfy { $0 >= $1 }, "\(delays)")
    }

    @Test func `a loop whose handler never returns hangs, and one that repeats reads for minutes does not`()
        async throws
    {
        let clock = ManualClock()
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "test"), logger: .silent, bus: InMemoryBroker().client(),
            clock: clock)
        let reads = Mutex(0)
        let serving = Task {
            try await context.serve(store: MemoryStore.owningAll(), subscriptions: { _ in [] }) { _ in
                let count = reads.withLock { count in
                    count += 1
                    return count
                }
                if count <= 50 { throw StoreError.notReadable("the database is away") }
                // Ends when the task is canceled.
                for await _ in AsyncStream<Never>.makeStream().stream {}
            }
        }
        for _ in 0..<50 {
            try await clock.waitForSleepers()
            #expect(context.liveness.hung == [])
            clock.advance(by: .seconds(5))
        }
        try await expectEventually { reads.withLock { $0 == 51 } }
        #expect(context.liveness.hung == [])
        clock.advance(by: .seconds(15))
        #expect(context.liveness.hung == ["loop"])
        serving.cancel()
        _ = await serving.result
        #expect(context.liveness.hung == [])
    }

    @Test func `a store whose file was removed ends serve before the next event`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store.sqlite")
        let store = try SQLiteStore(
            path: path, schema: StoreSchema(service: "test", steps: [[]]), shards: Set(Shard.all))
        let broker = InMemoryBroker()
        await #expect(throws: StoreError.vanished(path: path)) {
            _ = try await withServing(broker.client(), clock: ManualClock(), store: store) { record, _ in
                try await expectEventually { record.events.count == 2 }
                try FileManager.default.removeItem(atPath: path)
                try await broker.client().send([message("in/1")])
            } handle: { event in
                if case .batch = event { Issue.record("a batch was handled") }
            }
        }
    }

    @Test func `a read that the end cancels is not logged as a failure`() async throws {
        let log = LogRecorder()
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "test"), logger: log.logger, bus: InMemoryBroker().client(),
            clock: ManualClock())
        let (reads, reading) = AsyncStream.makeStream(of: Void.self)
        let serving = Task {
            try await context.serve(store: MemoryStore.owningAll(), subscriptions: { _ in [] }) { _ in
                reading.yield()
                // Ends when the task is canceled.
                for await _ in AsyncStream<Never>.makeStream().stream {}
                throw StoreError.notReadable("CancellationError()")
            }
        }
        for await _ in reads.prefix(1) {}
        serving.cancel()
        await #expect(throws: CancellationError.self) { try await serving.value }
        #expect(log.lines == [])
    }
}
