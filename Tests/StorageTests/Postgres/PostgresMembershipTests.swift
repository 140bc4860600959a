import Testing
import Workouts

@testable import Storage

@Suite struct PostgresMembershipTests {
    private let start = ContinuousClock.now

    private func member() -> PostgresMembership {
        var membership = PostgresMembership()
        membership.join(1, startedAt: start)
        _ = membership.gain([Shard(7): Epoch(1), Shard(8): Epoch(1)], as: 1)
        return membership
    }

    @Test func `four seconds after the start of the last confirmed beat all shards are lost, once`() {
        var membership = member()
        let early = membership.expire(at: start + .milliseconds(3_999))
        let counts = membership.confirm(1, 1, startedAt: start + .seconds(3))
        let later = membership.expire(at: start + .milliseconds(6_999))
        #expect(early == nil && counts && later == nil)
        let due = membership.expire(at: start + .seconds(7))
        let again = membership.expire(at: start + .seconds(8))
        #expect(due == [Shard(7), Shard(8)] && again == nil)
        #expect(membership.member == nil)
    }

    @Test func `a shard without a lease under its epoch is lost`() {
        var membership = member()
        let epochs = [Shard(7): Epoch(1), Shard(8): Epoch(0), Shard(9): Epoch(1)]
        func owned() -> Set<Shard> { Set(epochs.filter { membership.owns($0.key, under: $0.value) }.keys) }
        #expect(owned() == [Shard(7)])
        _ = membership.release([Shard(7)])
        #expect(owned() == [Shard(7)])
        _ = membership.expire(at: start + .seconds(4))
        #expect(owned() == [])
    }

    @Test func `answers to a former member count nothing`() {
        var membership = member()
        let other = membership.lose(2)
        #expect(other == nil)
        _ = membership.lose(1)
        membership.join(2, startedAt: start)
        let isConfirmed = membership.confirm(1, 5, startedAt: start + .seconds(3))
        let isGained = membership.gain([Shard(9): Epoch(2)], as: 1)
        #expect(!isConfirmed && !isGained)
        #expect(membership.leases.isEmpty && membership.beat == 0)
    }

    @Test func `a shard is released once and owned until it is confirmed`() {
        var membership = member()
        let first = membership.release([Shard(7), Shard(9)])
        let second = membership.release([Shard(7)])
        #expect(first == [Shard(7)] && second.isEmpty)
        #expect(membership.leases[Shard(7)] != nil)
        membership.released([Shard(7)])
        #expect(membership.leases[Shard(7)] == nil)
    }

    @Test func `a release that is confirmed after the shard was lost and gained again leaves it owned`() {
        var membership = member()
        _ = membership.release([Shard(7)])
        _ = membership.lose()
        membership.join(2, startedAt: start)
        _ = membership.gain([Shard(7): Epoch(2)], as: 2)
        membership.released([Shard(7)])
        #expect(membership.leases[Shard(7)]?.epoch == Epoch(2))
    }
}
