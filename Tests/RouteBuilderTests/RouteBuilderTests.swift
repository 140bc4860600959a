import Bus
import Foundation
import MQTT
import Streams
import TestSupport
import Testing
import Workouts

@testable import RouteBuilder

/// The service's loop on a real store. `StreamsTests` test the shared code, and `WorkoutsTests` the rules of
/// routes.
struct RouteBuilderTests {
    private typealias Builder = StreamOwner<RouteWork>

    private static let start = 1_700_000_000.0
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: start + 700))
    private var script = Script(start: start)
    private let segments = [
        Segment(start: Timestamp(seconds: start), end: Timestamp(seconds: start + 299)),
        Segment(start: Timestamp(seconds: start + 400), end: Timestamp(seconds: start + 599)),
    ]

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Fixes northwards at 3 m/s.
    private func fixes(_ range: Range<Int>) -> [Location] {
        range.map { second in
            var location = Location(
                time: Timestamp(seconds: Self.start + Double(second)),
                latitude: 47 + 3 * Double(second) / 111_194.93, longitude: 8)
            location[.horizontalAccuracy] = 5
            return location
        }
    }

    private struct Summary: Decodable {
        let distance: Double?
        let next: [String: Int]
        let polyline: [String]
        let chunks: Int
    }

    private func summary(_ sent: [MQTTMessage]) throws -> Summary {
        let payload = try #require(sent.payloads(.session(script.key, .summaryRoute)).last)
        return try JSONCoding.decode(Summary.self, from: payload)
    }

    @Test func `heard has the newest position, whatever came last, and a restart reads it again`() async throws {
        var builder: Builder? = try await Builder(folder, clock: clock)
        var sent = try await builder!.deliver([
            script.stateMessage, script.batch("watch-1", 0, fixes(100..<200)),
            script.batch("phone-1", 0, fixes(0..<50) + [Location(time: Timestamp(seconds: Self.start + 300))]),
        ])
        sent += try await builder!.tick()
        builder = nil
        builder = try await Builder(folder, clock: clock)
        sent += try await builder!.deliver([script.stateMessage])
        sent += try await builder!.tick()
        let heard = try sent.payloads(.session(script.key, .heard(.locations))).map {
            try JSONCoding.decode(Heard.self, from: $0)
        }
        #expect(heard.map(\.count) == [151, 151])
        #expect(heard.allSatisfy { $0.position?.latitude == fixes(199..<200)[0][.latitude] })
        #expect(heard.allSatisfy { $0.newest == Timestamp(seconds: Self.start + 300) })
    }

    @Test func `heard has a position as soon as one is accurate enough`() async throws {
        var builder = try await Builder(folder, clock: clock)
        try await builder.deliver([script.stateMessage])
        var fixes = fixes(0..<5)
        for (number, accuracy) in [(0, 1_200), (1, -1), (2, 50)] {
            fixes[number][.horizontalAccuracy] = Double(accuracy)
        }
        fixes[4][.horizontalAccuracy] = 900
        var positions: [Double?] = []
        for (number, fix) in fixes.enumerated() {
            var sent = try await builder.deliver([script.batch("watch-1", number, [fix])])
            clock.advance(by: .seconds(1))
            sent += try await builder.tick()
            positions += try sent.payloads(.session(script.key, .heard(.locations)))
                .map { try JSONCoding.decode(Heard.self, from: $0).position?.latitude }
        }
        #expect(positions == [nil, fixes[3][.latitude]])
    }

    @Test mutating func `fixes are acknowledged and become a route, a summary and a track`() async throws {
        var builder = try await Builder(folder, clock: clock)
        try await builder.deliver([script.stateMessage])
        let sent = try await builder.deliver([script.batch("watch-1", 0, fixes(0..<600))])
        #expect(try sent.acks(script.key, "watch-1", .locations) == [.next(600)])
        let live = try await builder.tick()
        let route = try RouteProgress(try #require(live.payloads(.session(script.key, .route)).last)[...])
        #expect(route.newest == Timestamp(seconds: Self.start + 599))
        #expect(abs(try #require(route.distance) - 3 * 599) < 20)
        let latitude = try #require(fixes(599..<600).first?.latitude)
        #expect(abs(try #require(route.latitude) - latitude) < 1e-4)

        try await builder.deliver([script.change(.saving, segments)])
        let final = try await builder.tick()
        let summary = try summary(final)
        #expect(abs(try #require(summary.distance) - 3 * 498) < 20)
        #expect(summary.next == ["locations/watch-1": 600])
        #expect(summary.polyline.count == 2)
        let chunks = (0..<summary.chunks).map { final.payloads(.session(script.key, .track($0))).count }
        #expect(chunks == [Int](repeating: 1, count: summary.chunks))
        #expect(summary.chunks == 1)
    }

    @Test mutating func `fixes of an indoor session are acknowledged and counted and give no route`() async throws {
        script.state.environment = .indoor
        var builder = try await Builder(folder, clock: clock)
        try await builder.deliver([script.stateMessage])
        let sent = try await builder.deliver([script.batch("watch-1", 0, fixes(0..<600))])
        #expect(try sent.acks(script.key, "watch-1", .locations) == [.next(600)])
        let live = try await builder.tick()
        let route = try #require(live.payloads(.session(script.key, .route)).last)
        #expect(try RouteProgress(route[...]).distance == nil)
        let heard = try #require(live.payloads(.session(script.key, .heard(.locations))).last)
        #expect(try JSONCoding.decode(Heard.self, from: heard).count == 600)
        try await builder.deliver([script.change(.saving, segments)])
        let summary = try summary(try await builder.tick())
        #expect(summary.distance == nil)
        #expect(summary.polyline == [])
        #expect(summary.chunks == 0)
        #expect(summary.next == ["locations/watch-1": 600])
    }

    @Test mutating func `the track is repeated on request, and deleted with the session`() async throws {
        var builder = try await Builder(folder, clock: clock)
        try await builder.deliver([script.stateMessage, script.batch("watch-1", 0, fixes(0..<600))])
        try await builder.deliver([script.change(.completed, segments)])
        let first = try await builder.tick().payloads(.session(script.key, .track(0)))
        #expect(first.count == 1)
        try await builder.deliver([script.chunkRequest])
        #expect(try await builder.tick().payloads(.session(script.key, .track(0))) == first)
        try await builder.deliver([script.change(.deleted, [])])
        let sent = try await builder.tick()
        for topic in [SessionTopic.route, .summaryRoute] {
            #expect(sent.payloads(.session(script.key, topic)) == [[]], "\(topic)")
        }
        let late = try await builder.deliver([script.batch("watch-1", 600, fixes(600..<610))])
        #expect(try late.acks(script.key, "watch-1", .locations) == [.next(610)])
    }

    @Test mutating func `fixes of an unknown session wait, and a second device fills the first one's gap`()
        async throws
    {
        var builder = try await Builder(folder, clock: clock)
        let early = try await builder.deliver([script.batch("watch-1", 0, fixes(0..<200))])
        #expect(early.isEmpty)
        let sent = try await builder.deliver([script.stateMessage])
        #expect(try sent.acks(script.key, "watch-1", .locations) == [.next(200)])
        try await builder.deliver([script.batch("phone-1", 0, fixes(100..<600))])
        try await builder.deliver([script.change(.completed, segments)])
        let summary = try summary(try await builder.tick())
        #expect(summary.next == ["locations/watch-1": 200, "locations/phone-1": 500])
        #expect(abs(try #require(summary.distance) - 3 * 498) < 30)
    }
}
