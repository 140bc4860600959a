import Bus
import MQTT
import Storage
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import ServiceKit

struct OutboxTests {
    static let shards = [Shard(1), Shard(2), Shard(3)]

    /// A loop around the machine on a store in memory.
    struct Run {
        let bus = RecordingBus()
        let store: MemoryStore
        let clock = ManualClock()
        let log = LogRecorder()
        let context: ServiceContext
        var machine = CounterMachine()
        var outbox: Outbox<CounterMachine>

        init(_ store: MemoryStore = MemoryDatabase().replica(), owning shards: [Shard] = OutboxTests.shards)
            async throws
        {
            self.store = store
            context = ServiceContext(
                configuration: ServiceConfiguration(name: "counter"), logger: log.logger, bus: bus, clock: clock)
            outbox = Outbox(context: context, store: store)
            try await gain(shards)
        }

        mutating func gain(_ shards: [Shard]) async throws {
            lose(shards)
            outbox.begin(.ownership(store.gain(Set(shards))), with: &machine, at: clock.moment)
            for record in try await store.records(in: CounterMachine.counts, shards: Set(shards)) {
                machine.counts[record.shard] = try JSONCoding.decode(Int.self, from: record.value)
            }
        }

        mutating func lose(_ shards: [Shard]) {
            outbox.begin(.ownership(store.lose(Set(shards))), with: &machine, at: clock.moment)
        }

        mutating func count(_ shard: Shard) { outbox.add(machine.count(shard)) }

        @discardableResult
        mutating func flush(_ batch: MQTTBatch? = nil) async -> [String] {
            if let batch { outbox.begin(.batch(batch), with: &machine, at: clock.moment) }
            await outbox.flush(&machine, at: clock.moment)
            return sent()
        }

        func sent() -> [String] { bus.take().map { "\($0.topic) \(String(decoding: $0.payload, as: UTF8.self))" } }

        /// The stored count of each shard.
        func stored() async throws -> [Shard: Int] {
            var stored: [Shard: Int] = [:]
            for record in try await store.records(in: CounterMachine.counts, shards: Set(Shard.all)) {
                stored[record.shard] = try JSONCoding.decode(Int.self, from: record.value)
            }
            return stored
        }
    }

    // MARK: Events

    @Test func `connects, announcements and ticks reach the machine`() async throws {
        var run = try await Run()
        func flush(_ event: ServiceEvent, _ run: inout Run) async -> [String] {
            run.outbox.begin(event, with: &run.machine, at: run.clock.moment)
            return await run.flush()
        }
        run.count(Shard(1))
        run.count(Shard(2))
        await run.flush()
        #expect(await flush(.announce([Shard(2)]), &run) == ["count/02 1"])
        #expect(await flush(.connected, &run) == ["count/01 1", "count/02 1"])
        run.machine.due = [.ask(Shard(3))]
        #expect(await flush(.tick, &run) == ["ask/03 0"])
        #expect(await flush(.tick, &run) == [])
        run.outbox.begin(.disconnected, with: &run.machine, at: run.clock.moment)
        #expect(await run.outbox.flush(&run.machine, at: run.clock.moment).performed == [.report("disconnected")])
        #expect(await flush(.ownership(run.store.lose([Shard(2)])), &run) == [])
        #expect(await flush(.connected, &run) == ["count/01 1"])
    }

    // MARK: Order

    @Test func `a batch is finished before its messages are sent`() async throws {
        var run = try await Run()
        let sentBefore = Mutex<[String]?>(nil)
        run.count(Shard(1))
        let batch = MQTTBatch(messages: []) { [bus = run.bus] in
            sentBefore.withLock { $0 = bus.take().map(\.topic) }
        }
        #expect(await run.flush(batch) == ["count/01 1"])
        #expect(sentBefore.withLock(\.self) == [])
        #expect(try await run.stored() == [Shard(1): 1])
    }

    @Test func `an action that is added twice counts once, at its first place`() async throws {
        var run = try await Run()
        run.count(Shard(1))
        run.outbox.add([.reply(Shard(2), 7)])
        run.count(Shard(1))
        #expect(await run.flush() == ["count/01 2", "reply/02 7"])
        #expect(await run.flush() == [])
    }

    // MARK: Failed commits

    @Test func `while commits fail nothing is published or answered, and afterwards the newest state is`() async throws
    {
        var run = try await Run()
        run.store.refuse()
        for id in 1...3 {
            run.count(Shard(1))
            run.outbox.add([.reply(Shard(1), id)])
            #expect(await run.flush() == [])
        }
        run.store.accept()
        run.clock.advance(by: .seconds(1))
        run.outbox.add([.reply(Shard(1), 4)])
        #expect(await run.flush() == ["count/01 3", "reply/01 4"])
        #expect(try await run.stored() == [Shard(1): 3])
    }

    @Test func `a commit that reports failure though it was made is repeated`() async throws {
        var run = try await Run()
        run.store.failNextCommit(.afterWriting)
        run.count(Shard(1))
        #expect(await run.flush() == [])
        run.clock.advance(by: .seconds(1))
        #expect(await run.flush() == ["count/01 1"])
    }

    @Test(arguments: [(0.0, 0.0), (0.9, 0), (1, 0), (0.9, -3_600), (0.9, 3_600), (1, -3_600)])
    func `a failed commit is repeated after a second, wherever the wall clock steps`(
        seconds: Double, step: Double
    ) async throws {
        var run = try await Run()
        run.store.refuse()
        run.count(Shard(1))
        await run.flush()
        run.store.accept()
        run.clock.step(by: .seconds(step))
        run.clock.advance(by: .seconds(seconds))
        #expect(await run.flush() == ((0..<1).contains(seconds) ? [] : ["count/01 1"]))
    }

    @Test func `the flush before the end ignores the backoff`() async throws {
        var run = try await Run()
        run.store.refuse()
        run.count(Shard(1))
        await run.flush()
        run.store.accept()
        await run.outbox.finish(&run.machine, at: run.clock.moment)
        #expect(run.sent() == ["count/01 1"])
    }

    @Test func `an outage is logged once and changes the readiness, and so does its end`() async throws {
        var run = try await Run()
        for _ in 0..<2 {
            run.store.refuse()
            run.count(Shard(1))
            for _ in 0..<3 {
                await run.flush()
                run.clock.advance(by: .seconds(1))
            }
            #expect(await run.context.readiness.report().missing == ["store"])
            run.store.accept()
            await run.flush()
            #expect(await run.context.readiness.report().missing == [])
        }
        let outage = [
            "error commit failed, retrying error=the store cannot be written: disk full",
            "notice commits succeed again",
        ]
        #expect(run.log.lines == outage + outage)
    }

    @Test func `urgent actions and direct messages need no commit`() async throws {
        var run = try await Run()
        run.store.refuse()
        run.count(Shard(1))
        await run.flush()
        run.outbox.add([.report("news"), .ask(Shard(2))])
        run.outbox.send(CounterMachine.message("direct", Shard(3), 1), of: Shard(3))
        run.outbox.reject(
            CounterMachine.message("bad", Shard(1), 1), Rejection(topic: "bad", reason: "malformed"),
            at: run.clock.moment)
        let flushed = await run.outbox.flush(&run.machine, at: run.clock.moment)
        #expect(flushed.performed == [.report("news"), .ask(Shard(2))])
        #expect(!flushed.isSaved)
        let topics = run.bus.take().map(\.topic)
        #expect(topics == ["direct/03", Topic.rejected(service: "counter").name, "ask/02"])
        #expect(run.outbox.actions == [.save(Shard(1)), .publish(Shard(1))])
    }

    // MARK: Batches

    @Test func `a batch whose commit fails is finished unless too much is pending`() async throws {
        var run = try await Run()
        run.outbox.pendingLimit = 3 * 512
        run.store.refuse()
        let finished = Mutex(0)
        let batch = MQTTBatch(messages: []) { finished.withLock { $0 += 1 } }
        run.count(Shard(1))
        await run.flush(batch)
        #expect(finished.withLock(\.self) == 1)
        run.count(Shard(2))
        await run.flush(batch)
        await run.flush()
        #expect(finished.withLock(\.self) == 1)
        run.store.accept()
        run.clock.advance(by: .seconds(1))
        await run.flush()
        await run.flush()
        #expect(finished.withLock(\.self) == 2)
        run.store.refuse()
        run.machine.pendingBytes = 4 * 512
        run.count(Shard(1))
        await run.flush(batch)
        #expect(finished.withLock(\.self) == 2)
    }

    // MARK: Any order

    @Test func `in any order of faults only stored values are published, and finally all of them`() async throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let database = MemoryDatabase()
            let rival = database.replica()
            var run = try await Run(database.replica())
            var published: [String: Int] = [:]
            for _ in 0..<60 {
                let shard = Self.shards.randomElement(using: &random)!
                switch Int.random(in: 0..<10, using: &random) {
                case 0: run.store.refuse()
                case 1: run.store.accept()
                case 2: run.store.failNextCommit(.afterWriting)
                case 3: run.lose([shard])
                case 4: try await run.gain([shard])
                case 5: rival.gain([shard])
                case 6:
                    run.clock.step(by: .milliseconds(Int.random(in: -5_000...5_000, using: &random)))
                    run.clock.advance(by: .milliseconds(Int.random(in: 0...1_500, using: &random)))
                default:
                    run.count(shard)
                    run.outbox.add([.reply(shard, run.machine.counts[shard] ?? 0)])
                }
                await run.outbox.flush(&run.machine, at: run.clock.moment)
                let stored = try await run.stored()
                for message in run.bus.take() {
                    let value = try #require(Int(String(decoding: message.payload, as: UTF8.self)))
                    let shard = try #require(Self.shards.first { message.topic.hasSuffix("/\($0)") })
                    #expect(value <= stored[shard] ?? 0, "seed \(random.seed)")
                    #expect(value >= published[message.topic] ?? 0, "seed \(random.seed)")
                    published[message.topic] = value
                }
            }
            run.store.accept()
            try await run.gain(Self.shards)
            for shard in Self.shards { run.count(shard) }
            // Enough time for the backoff and one more failed commit.
            for _ in 0..<3 {
                run.clock.advance(by: .seconds(1))
                await run.flush()
            }
            #expect(try await run.stored() == run.machine.counts, "seed \(random.seed)")
            #expect(run.outbox.actions.isEmpty, "seed \(random.seed)")
        }
    }
}
