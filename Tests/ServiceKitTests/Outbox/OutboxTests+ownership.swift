import Bus
import MQTT
import Storage
import TestSupport
import Testing
import Workouts

@testable import ServiceKit

extension OutboxTests {
    @Test func `a lost shard's actions and messages are neither written nor sent`() async throws {
        var run = try await Run()
        for shard in Self.shards {
            run.count(shard)
            run.outbox.add([.reply(shard, 1)])
            run.outbox.send(CounterMachine.message("direct", shard, 1), of: shard)
        }
        run.lose([Shard(1)])
        try await run.gain([Shard(1)])
        run.lose([Shard(2)])
        run.count(Shard(2))
        run.outbox.add([.reply(Shard(2), 2), .ask(Shard(2))])
        run.outbox.send(CounterMachine.message("direct", Shard(2), 2), of: Shard(2))
        #expect(await run.flush() == ["direct/03 1", "count/03 1", "reply/03 1"])
        #expect(try await run.stored() == [Shard(3): 1])
    }

    @Test func `a shard that only the commit reports as lost is dropped`() async throws {
        let database = MemoryDatabase()
        var run = try await Run(database.replica())
        database.replica().gain([Shard(1)])
        for shard in Self.shards.prefix(2) {
            run.count(shard)
            run.outbox.add([.reply(shard, 1)])
        }
        let flushed = await run.outbox.flush(&run.machine, at: run.clock.moment)
        #expect(flushed.lost == [Shard(1)])
        #expect(run.sent() == ["count/02 1", "reply/02 1"])
        #expect(!run.outbox.owns(Shard(1)))
        #expect(run.machine.counts == [Shard(2): 1])
    }

    @Test func `an outage ends when its failed writes are dropped with their shard`() async throws {
        var run = try await Run()
        run.store.refuse()
        run.count(Shard(1))
        await run.flush()
        #expect(!run.outbox.isWriting)
        run.lose([Shard(1)])
        await run.flush()
        #expect(run.outbox.isWriting)
        #expect(await run.context.readiness.report().missing == [])
        run.store.accept()
        run.count(Shard(2))
        #expect(await run.flush() == ["count/02 1"])
    }

    @Test func `nothing of a shard is sent once the store knows of its loss`() async throws {
        var run = try await Run()
        for shard in Self.shards.prefix(2) {
            run.outbox.add([.publish(shard), .ask(shard)])
            run.outbox.send(CounterMachine.message("direct", shard, 1), of: shard)
        }
        let change = run.store.lose([Shard(1)])
        let flushed = await run.outbox.flush(&run.machine, at: run.clock.moment)
        #expect(flushed.lost == [Shard(1)])
        #expect(run.sent() == ["direct/02 1", "count/02 0", "ask/02 0"])
        run.outbox.begin(.ownership(change), with: &run.machine, at: run.clock.moment)
        try await run.gain([Shard(1)])
        run.count(Shard(1))
        #expect(await run.flush() == ["count/01 1"])
    }
}
