import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// One service joins: metrics-aggregator takes in the route and the profile.
struct RouteJoinTests {
    private static let locations = StreamName(.locations, Device("watch-1")!)
    private let items = JoinItems()

    /// A session that both services know, with its items at both.
    private func world(samples: Bool = true, announces: Bool = true) async throws -> JoinWorld {
        var world = try JoinWorld()
        for role in JoinWorld.Role.allCases { try await world.run(role) }
        world.publish([world.script.stateMessage])
        if samples { world.publish([items.batch(world.script, samples: 0..<601)]) }
        world.publish([items.batch(world.script, locations: 0..<601)])
        for role in JoinWorld.Role.allCases { try await world.deliver(role) }
        if announces { world.script.state.streams = [Self.locations: 601] }
        return world
    }

    private func end(_ world: inout JoinWorld) { world.publish([world.script.change(.saving, JoinWorld.segments)]) }

    private func requests(_ world: JoinWorld) throws -> Int {
        try world.log.payloads(.session(world.script.key, .request)).count {
            try JSONCoding.decode(SessionRequest.self, from: $0).action == .track
        }
    }

    @Test func `the summary takes in the announced route at once, without a request`() async throws {
        var world = try await world()
        end(&world)
        try await world.pass(2)
        let report = try #require(try world.report())
        #expect(report.route == (try world.routeReport()?.revision))
        #expect(abs(try #require(report.totals.distance) - 3 * 499) < 20)
        #expect(world.count(.summaryMetrics) == 1)
        #expect(try requests(world) == 0)
        #expect(try await world.tracks() == ["\(world.script.key)/a/00000000"])
    }

    @Test func `a session without samples gets its summary`() async throws {
        var world = try await world(samples: false)
        end(&world)
        try await world.pass(2)
        let report = try #require(try world.report())
        #expect(report.next.isEmpty && report.chunks == 0)
        #expect(abs(try #require(report.totals.distance) - 3 * 499) < 20)
        #expect(!report.totals.splits.isEmpty)
        #expect(report.route == (try world.routeReport()?.revision))
    }

    @Test func `an indoor session with announced locations joins a route without a track`() async throws {
        var world = try JoinWorld()
        world.script.state.environment = .indoor
        for role in JoinWorld.Role.allCases { try await world.run(role) }
        world.publish([
            world.script.stateMessage, items.batch(world.script, samples: 0..<601),
            items.batch(world.script, locations: 0..<601),
        ])
        world.script.state.streams = [Self.locations: 601]
        end(&world)
        try await world.pass(3)
        let report = try #require(try world.report())
        #expect(try world.routeReport()?.chunks == 0)
        #expect(report.route == (try world.routeReport()?.revision))
        #expect(report.totals.distance == nil)
        #expect(try await world.tracks() == [] && requests(world) == 0)
    }

    @Test func `without route-builder the summary comes 2 s later, and again when it is back`() async throws {
        var world = try await world()
        world.kill(.builder)
        end(&world)
        try await world.pass(2)
        #expect(try world.report() == nil)
        try await world.pass(1)
        let first = try #require(try world.report())
        #expect(first.route == nil && first.totals.distance == nil)
        // Meanwhile the session leaves memory.
        try await world.pass(120)
        #expect(world.aggregator?.loop.machine.sessions.isEmpty == true)
        try await world.run(.builder)
        try await world.pass(3)
        let second = try #require(try world.report())
        #expect(second.route == (try world.routeReport()?.revision))
    }

    @Test func `lost chunks are requested at once and every 5 s, for ten minutes`() async throws {
        var world = try await world()
        end(&world)
        try await world.deliver(.builder)
        try await world.tick(.builder)
        world.kill(.builder)
        world.lose(.aggregator) { if case .track = $0 { true } else { false } }
        try await world.pass(11)
        #expect(try requests(world) == 3)
        #expect(try world.report()?.route == nil)
        try await world.pass(700)
        #expect(try requests(world) == 120)
        #expect(world.aggregator?.loop.machine.sessions.isEmpty == true)
        try await world.run(.builder)
        try await world.pass(3)
        #expect(try requests(world) == 121)
        #expect(try world.report()?.route == (try world.routeReport()?.revision))
    }

    @Test func `late locations revise both summaries, and the old track goes with the commit`() async throws {
        var world = try JoinWorld()
        for role in JoinWorld.Role.allCases { try await world.run(role) }
        world.publish([
            world.script.stateMessage, items.batch(world.script, samples: 0..<601),
            items.batch(world.script, locations: 0..<300),
        ])
        end(&world)
        try await world.pass(3)
        let first = try #require(try world.report())
        #expect(first.route == (try world.routeReport()?.revision))
        world.publish([items.batch(world.script, locations: 300..<601)])
        try await world.pass(3)
        let second = try #require(try world.report())
        #expect(second.route == (try world.routeReport()?.revision))
        #expect(second.revision > first.revision)
        #expect(try #require(second.totals.distance) > first.totals.distance! + 500)
        #expect(try await world.tracks() == ["\(world.script.key)/b/00000000"])
    }

    @Test func `a route of the same content moves the route's revision alone`() async throws {
        var world = try await world()
        end(&world)
        try await world.pass(2)
        let first = try #require(try world.report())
        let chunks = world.count(.series(0))
        // Another copy of the route was ahead: route-builder publishes its own above it.
        var other = try #require(try world.routeReport())
        other.revision += 1_000_000
        world.restore(Topic.session(world.script.key, .summaryRoute).message(JSONCoding.encode(other)))
        try await world.pass(8)
        let second = try #require(try world.report())
        #expect(second.route == (try world.routeReport()?.revision))
        #expect(second.route! > other.revision)
        #expect(second.revision == first.revision && second.totals == first.totals)
        #expect(world.count(.series(0)) == chunks)
    }

    @Test func `older routes from the broker are ignored`() async throws {
        var world = try await world()
        end(&world)
        try await world.pass(2)
        let report = try #require(try world.report())
        var old = try #require(try world.routeReport())
        old.revision -= 1_000
        let chunk = try #require(world.log.payloads(.session(world.script.key, .track(0))).last)
        let oldChunk = Array(
            String(decoding: chunk, as: UTF8.self).replacing(
                "\"revision\":\(report.route!)", with: "\"revision\":\(old.revision)"
            ).utf8)
        let tracks = try await world.tracks()
        let restored = [
            Topic.session(world.script.key, .summaryRoute).message(JSONCoding.encode(old)),
            Topic.session(world.script.key, .track(0)).message(oldChunk),
        ]
        try await world.deliverDirectly(restored, to: .aggregator)
        #expect(world.aggregator?.loop.machine.keys(with: .intake) == [])
        try await world.pass(3)
        #expect(try world.report() == report)
        #expect(try await world.tracks() == tracks)
    }

    @Test func `a deletion in the middle of a track leaves nothing`() async throws {
        var world = try await world()
        end(&world)
        try await world.deliver(.builder)
        try await world.tick(.builder)
        let chunk = try #require(world.queued(.aggregator).first { $0.topic.contains("/track/") })
        // The first chunk arrives, then the deletion, then the chunk again.
        world.lose(.aggregator) { $0 == .summaryRoute }
        try await world.deliver(.aggregator)
        #expect(try await world.tracks().count == 1)
        world.publish([world.script.change(.deleted, []), chunk])
        try await world.pass(2)
        #expect(try await world.tracks() == [])
        #expect(world.aggregator?.loop.machine.keys(with: .intake) == [])
        #expect(try world.report() == nil)
        // Also a complete one.
        world = try await self.world()
        end(&world)
        try await world.pass(2)
        #expect(try await world.tracks().count == 1)
        world.publish([world.script.change(.deleted, [])])
        try await world.pass(2)
        #expect(try await world.tracks() == [])
    }

    @Test func `a track that changes while a job reads it is read again`() async throws {
        var world = try JoinWorld()
        world.bounds.manyItems = 100
        for role in JoinWorld.Role.allCases { try await world.run(role) }
        world.holdsJobs = true
        world.publish([
            world.script.stateMessage, items.batch(world.script, samples: 0..<601),
            items.batch(world.script, locations: 0..<300),
        ])
        end(&world)
        // The aggregator's first job is the fold, then summaries.
        for _ in 0..<40 where world.aggregator?.jobs.last?.route == nil {
            try await world.pass(1)
            try await world.runJobs(.builder)
            if world.aggregator?.jobs.last?.route == nil { try await world.runJobs(.aggregator) }
        }
        // A summary waits to run; meanwhile the next route replaces the one that it takes in.
        let route = try #require(world.aggregator?.jobs.last?.route)
        world.publish([items.batch(world.script, locations: 300..<601)])
        for _ in 0..<30 where world.aggregator?.loop.machine.sessions[world.script.key]?.record.route == route {
            try await world.pass(1)
            try await world.runJobs(.builder)
        }
        world.holdsJobs = false
        try await world.pass(40)
        #expect(try world.report()?.route == (try world.routeReport()?.revision))
        #expect(try world.report()?.route != route.revision)
        #expect(try requests(world) < 5)
    }

    @Test func `no summary comes before the profile that the state names`() async throws {
        var world = try JoinWorld()
        try await world.run(.aggregator)
        var profile = Profile()
        profile.maximumHeartRate = 200
        let message = world.script.setProfile(profile)
        world.publish([world.script.stateMessage, items.batch(world.script, samples: 0..<601)])
        end(&world)
        try await world.pass(10)
        #expect(try world.report() == nil)
        // The broker had lost it; it also survives a restart.
        try await world.deliverDirectly([message], to: .aggregator)
        world.kill(.aggregator)
        try await world.run(.aggregator)
        try await world.pass(2)
        #expect(try world.report()?.totals.zones != nil)
    }

    @Test func `a profile that arrives before the state waits for it`() async throws {
        var world = try JoinWorld()
        try await world.run(.aggregator)
        var profile = Profile()
        profile.maximumHeartRate = 200
        world.publish([world.script.setProfile(profile)])
        try await world.deliver(.aggregator)
        world.publish([world.script.stateMessage, items.batch(world.script, samples: 0..<601)])
        try await world.pass(1)
        let live = try #require(world.log.payloads(.session(world.script.key, .metrics)).last)
        #expect(try MetricsSnapshot(live).zones != nil)
        end(&world)
        try await world.pass(1)
        #expect(try world.report()?.totals.zones != nil)
    }

    @Test func `summaries count items in no segment, and name the silences`() async throws {
        var world = try await world()
        end(&world)
        try await world.pass(2)
        let (metrics, route) = (try #require(try world.report()), try #require(try world.routeReport()))
        #expect(metrics.totals.sketch != nil && metrics.totals.sketch == route.totals.sketch)
        // Seconds 300 to 399 are a pause.
        #expect(metrics.outside == [StreamName(.samples, Device("watch-1")!): 100])
        #expect(route.outside == [Self.locations: 100])
        let edges = Silences([
            .init(from: nil, to: Timestamp(seconds: JoinWorld.start)),
            .init(from: Timestamp(seconds: JoinWorld.start + 600), to: nil),
        ])
        #expect(metrics.gaps == edges && route.gaps == edges)
    }
}
