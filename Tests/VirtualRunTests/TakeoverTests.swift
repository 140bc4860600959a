import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// Two replicas: one owns all runs, the other stands by until the first is gone or frozen.
struct TakeoverTests {
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let anna = User("anna")!
    private let ben = User("ben")!
    private let stores: [MemoryStore]

    init() {
        let database = MemoryDatabase()
        stores = [database.replica(), database.replica()]
    }

    /// The owner and a connected standby.
    private func replicas() async throws -> (owner: Runs, standby: Runs) {
        stores[0].gain(Set(Shard.all))
        stores[1].gain([])
        return (try await Runs(stores[0], clock: clock), try await Runs(stores[1], clock: clock))
    }

    /// The standby notices that the owner's lease is over.
    private func takeOver(_ standby: inout Runs) async throws -> [MQTTMessage] {
        try await standby.takeOver(stores[1].gain(Set(Shard.all)))
    }

    @Test func `a standby subscribes to nothing`() {
        #expect(VirtualRunService.subscriptions([]).isEmpty)
        #expect(!VirtualRunService.subscriptions([Shard(0)]).isEmpty)
    }

    @Test func `a confirmation in time counts, though no replica owned the run until after its deadline`()
        async throws
    {
        var (owner, standby) = try await replicas()
        let id = RunID(UUID())
        try await owner.accept(anna, id, .create(RunProposal(invite: [ben])))
        try await owner.accept(ben, id, .accept(Sharing.Change()))
        try await owner.accept(anna, id, .confirm)
        #expect(owner.run(id)?.status == .confirming)
        // Ben confirms now, and again every 5 s until the reply.
        clock.advance(by: .seconds(61))
        #expect(try await takeOver(&standby).views(id, ben).last?.status == .confirming)
        try await standby.pass(4.9)
        try await standby.accept(ben, id, .confirm)
        #expect(standby.run(id)?.status == .starting)
    }

    @Test func `a deadline that nothing meets passes ten seconds after the takeover`() async throws {
        var (owner, standby) = try await replicas()
        let id = RunID(UUID())
        try await owner.accept(anna, id, .create(RunProposal(invite: [ben])))
        try await owner.accept(ben, id, .accept(Sharing.Change()))
        clock.advance(by: .seconds(61))
        _ = try await takeOver(&standby)
        try await standby.pass(9.8)
        #expect(standby.run(id)?.status == .confirming)
        try await standby.pass(0.4)
        #expect(standby.run(id)?.status == .canceled)
    }

    @Test func `after a takeover partners continue with higher revisions, and the former owner sends nothing`()
        async throws
    {
        var (owner, standby) = try await replicas()
        let id = try await owner.start(anna, [ben])
        try await owner.pass(4)
        let states = [try owner.state(id, anna), try owner.state(id, ben)]
        try await owner.deliver(states.map(\.message))
        func snapshots(_ second: Int) -> [MQTTMessage] {
            states.map { $0.metrics(at: Double(second), meters: 3 * Double(second)) }
        }
        var before: [Partners] = []
        for second in 1...10 {
            before += try await owner.deliver(snapshots(second)).partners(id, anna)
            before += try await owner.pass(1).partners(id, anna)
        }
        let last = try #require(before.last)
        #expect(last.rows.map(\.runner) == [.participant(ben)])

        clock.advance(by: .seconds(6))
        var after = try await takeOver(&standby).partners(id, anna)
        try await standby.deliver(states.map(\.message))
        for second in 17...20 {
            after += try await standby.deliver(snapshots(second)).partners(id, anna)
            after += try await standby.pass(1).partners(id, anna)
        }
        let next = try #require(after.first { $0.rows.map(\.runner) == [.participant(ben)] })
        #expect(after.allSatisfy { $0.revision > last.revision })
        #expect(next.rows.first?.distance ?? 0 > last.rows.first?.distance ?? .infinity)
        // Its store knows that its time is over, its loop does not.
        stores[0].lose(Set(Shard.all))
        #expect(try await owner.deliver(snapshots(21)).isEmpty)
        #expect(try await owner.pass(20).isEmpty)
    }

    @Test func `a replica that stood by meanwhile reads runs, people and the key of homes again`() async throws {
        var (owner, standby) = try await replicas()
        let id = try await owner.start(anna, [ben])
        try await owner.loop.handle(.ownership(stores[0].lose(Set(Shard.all))))
        #expect(owner.loop.machine.entries.isEmpty && owner.loop.machine.index.followed.isEmpty)
        _ = try await takeOver(&standby)
        try await standby.accept(anna, nil, .block(ben))
        try await standby.pass(11)
        #expect(standby.run(id)?.status == .running)
        #expect(standby.loop.machine.hidingKey == owner.loop.machine.hidingKey)
        try await owner.takeOver(stores[0].gain(Set(Shard.all)))
        #expect(owner.run(id)?.status == .running)
        #expect(owner.loop.machine.people[anna]?.blocked == [ben])
    }

    @Test func `a key of homes that is lost before its commit is replaced by that of the next owner`() async throws {
        stores[0].refuse()
        stores[0].gain(Set(Shard.all))
        stores[1].gain([])
        var (owner, standby) = (try await Runs(stores[0], clock: clock), try await Runs(stores[1], clock: clock))
        _ = try await takeOver(&standby)
        stores[0].accept()
        try await owner.loop.handle(.ownership(stores[0].lose(Set(Shard.all))))
        try await owner.takeOver(stores[0].gain(Set(Shard.all)))
        #expect(owner.loop.machine.hidingKey == standby.loop.machine.hidingKey)
    }
}
