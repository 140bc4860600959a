import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// A stored track that metrics-aggregator cannot read.
struct UnreadableTrackTests {
    private let items = JoinItems()

    private func end(_ world: inout JoinWorld) { world.publish([world.script.change(.saving, JoinWorld.segments)]) }

    private func requests(_ world: JoinWorld) throws -> Int {
        try world.log.payloads(.session(world.script.key, .request)).count {
            try JSONCoding.decode(SessionRequest.self, from: $0).action == .track
        }
    }

    @Test func `an unreadable track is requested again`() async throws {
        var world = try JoinWorld()
        for role in JoinWorld.Role.allCases { try await world.run(role) }
        world.publish([
            world.script.stateMessage, items.batch(world.script, samples: 0..<601),
            items.batch(world.script, locations: 0..<601),
        ])
        end(&world)
        try await world.pass(2)
        let first = try #require(try world.report())
        let loop = try #require(world.aggregator?.loop)
        let write = try #require(
            loop.put(
                world.script.key.session.shard, StreamStore.tracks, "\(world.script.key)/a/00000000", [1, 2, 3]))
        _ = try await world.aggregator?.store.commit([write])
        world.publish(
            [items.batch(world.script, samples: 601..<602)] + [world.script.change(.saving, JoinWorld.segments)])
        try await world.pass(8)
        let second = try #require(try world.report())
        #expect(second.route == first.route && second.totals == first.totals)
        #expect(second.state == world.script.state.revision)
        #expect(try requests(world) == 1)
    }

    @Test(arguments: [false, true])
    func `an unreadable track keeps the last route until it comes again, after hours too`(isLarge: Bool) async throws {
        var world = try JoinWorld()
        if isLarge { world.bounds.manyItems = 100 }
        for role in JoinWorld.Role.allCases { try await world.run(role) }
        world.publish([
            world.script.stateMessage, items.batch(world.script, samples: 0..<600),
            items.batch(world.script, locations: 0..<601),
        ])
        end(&world)
        try await world.pass(40)
        let first = try #require(try world.report())
        #expect(first.route != nil && first.totals.distance != nil)
        let chunk = try #require(try await world.tracks().first)
        let write = world.aggregator?.loop.put(
            world.script.key.session.shard, StreamStore.tracks, chunk, [1, 2, 3])
        _ = try await world.aggregator?.store.commit([try #require(write)])
        world.kill(.builder)
        world.publish([items.batch(world.script, samples: 600..<601)])
        try await world.pass(700)
        #expect(try world.report() == first)
        let asked = try requests(world)
        #expect(asked >= 120 && asked <= 122)
        // Another event asks again, as does a restart.
        end(&world)
        try await world.pass(20)
        #expect(try requests(world) > asked)
        world.kill(.aggregator)
        try await world.run(.aggregator)
        try await world.pass(20)
        #expect(try world.report() == first)
        try await world.run(.builder)
        try await world.pass(40)
        let second = try #require(try world.report())
        #expect(second.route == (try world.routeReport()?.revision))
        #expect(second.totals.distance == first.totals.distance)
        #expect(second.next == [StreamName(.samples, Device("watch-1")!): 601])
    }

    @Test func `without an earlier summary an unreadable track does not hold back the samples' totals`() throws {
        var script = Script()
        script.state.status = .saving
        var machine = StreamMachine<SampleWork>(StreamBounds())
        let clock = ManualClock(now: Timestamp(seconds: 1_700_001_000))
        machine.receiveState(script.state, now: clock.moment)
        machine.replaceRoute(
            StoredRoute(revision: 1, chunks: 1, slot: .first, totals: RouteSummary()),
            of: try #require(machine.sessions[script.key]), now: clock.moment)
        let due = machine.summariesDue(now: clock.moment + StreamTimes.route)
        #expect(due.map(\.state.key) == [script.key])
    }
}
