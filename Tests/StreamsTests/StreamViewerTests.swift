import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import RouteBuilder
@testable import Streams

/// Viewers request chunks on a topic of the viewed user.
struct StreamViewerTests {
    private func request(_ script: Script, viewer: String = "anna", _ fields: String? = nil) -> MQTTMessage {
        let fields = fields ?? #""type":"chunks","session":"\#(script.key.session)""#
        let topic = Topic.user(script.key.user, .viewerRequest(User(viewer)!))
        return topic.message(Array(#"{"id":"\#(UUID().uuidString.lowercased())",\#(fields)}"#.utf8))
    }

    /// An ended session whose summaries are published, and which both services have removed from memory.
    private func world() async throws -> JoinWorld {
        var world = try JoinWorld()
        let items = JoinItems()
        for role in JoinWorld.Role.allCases { try await world.run(role) }
        world.publish([
            world.script.stateMessage, items.batch(world.script, samples: 0..<601),
            items.batch(world.script, locations: 0..<601),
        ])
        world.publish([world.script.change(.completed, JoinWorld.segments)])
        try await world.pass(70)
        #expect(world.aggregator?.loop.machine.sessions.isEmpty == true)
        return world
    }

    @Test func `both owners publish their chunks, once for all requests within 5 s`() async throws {
        var world = try await world()
        let before = (world.count(.series(0)), world.count(.track(0)))
        for role in JoinWorld.Role.allCases {
            try await world.deliverDirectly([request(world.script), request(world.script, viewer: "berta")], to: role)
        }
        try await world.pass(2)
        for role in JoinWorld.Role.allCases { try await world.deliverDirectly([request(world.script)], to: role) }
        try await world.pass(2)
        #expect((world.count(.series(0)), world.count(.track(0))) == (before.0 + 1, before.1 + 1))
        try await world.pass(3)
        #expect((world.count(.series(0)), world.count(.track(0))) == (before.0 + 2, before.1 + 2))
    }

    @Test func `of a workout in progress both owners publish the items until now, with the revision 0`() async throws {
        var world = try JoinWorld()
        let items = JoinItems()
        for role in JoinWorld.Role.allCases { try await world.run(role) }
        world.publish([
            world.script.change(.active, [Segment(start: JoinWorld.segments[0].start, end: nil)]),
            items.batch(world.script, samples: 0..<100), items.batch(world.script, locations: 0..<50),
        ])
        try await world.pass(2)
        for role in JoinWorld.Role.allCases { try await world.deliverDirectly([request(world.script)], to: role) }
        try await world.pass(2)
        for (topic, rows) in [(SessionTopic.series(0), 100), (.track(0), 50)] {
            let chunk = try FinalChunk(#require(world.log.payloads(.session(world.script.key, topic)).last)[...])
            #expect((chunk.revision, chunk.count, chunk.times.count) == (0, 1, rows))
        }
        // The final chunks have a revision.
        world.publish([world.script.change(.completed, JoinWorld.segments)])
        try await world.pass(10)
        for topic in [SessionTopic.series(0), .track(0)] {
            let chunk = try FinalChunk(#require(world.log.payloads(.session(world.script.key, topic)).last)[...])
            #expect(chunk.revision > 0)
        }
    }

    @Test func `a viewer may send ten requests at once and one a second`() async throws {
        var world = try await world()
        let other = Script(start: JoinWorld.start)
        let flood = (0..<10).map { _ in request(other) }
        try await world.deliverDirectly(flood + [request(world.script)], to: .aggregator)
        #expect(world.aggregator?.loop.machine.keys(with: .chunks) == [])
        try await world.deliverDirectly([request(world.script, viewer: "berta")], to: .aggregator)
        #expect(world.aggregator?.loop.machine.keys(with: .chunks) == [world.script.key])
        world.clock.advance(by: .seconds(1))
        try await world.deliverDirectly([request(world.script)], to: .builder)
        #expect(world.builder?.loop.machine.keys(with: .chunks) == [world.script.key])
    }

    @Test func `requests for history, of unknown sessions and invalid ones have no effect`() async throws {
        var world = try await world()
        let before = world.log.count
        let ignored = [
            request(world.script, #""type":"workouts","limit":3"#), request(Script(start: JoinWorld.start)),
            request(world.script, #""type":7"#),
        ]
        for role in JoinWorld.Role.allCases { try await world.deliverDirectly(ignored, to: role) }
        #expect(world.aggregator?.loop.machine.keys(with: .chunks) == [])
        #expect(world.log.count == before)
    }
}
