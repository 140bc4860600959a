import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Summaries, weather and presence in any order, any number of times, with restarts in between.
struct EngineOrderTests {
    private static let start = Timestamp(seconds: 1_700_000_000)
    private let key = SessionKey(User("demo")!, SessionID(UUID()))
    private let samples = StreamName("samples/watch-1")!
    private let locations = StreamName("locations/watch-1")!

    private func command(_ action: SessionAction, at seconds: Double) -> MQTTMessage {
        let command = Command(
            id: CommandID(UUID()), client: Client("c")!, at: Self.start + seconds, action: action)
        return Topic.session(key, .command).message(JSONCoding.encode(command))
    }

    /// The messages of other services while the session is saved. Later revisions cover more items.
    private func published(_ isMeasured: Bool, state: Int64) -> [MQTTMessage] {
        let metrics = (1...4).map { number in
            var totals = MetricsSummary()
            totals.averageHeartRate = 100 + Double(number)
            totals.distance = isMeasured ? Double(number) * 100 : nil
            let report = MetricsReport(
                revision: Int64(number), state: state, next: [samples: number * 25], chunks: 1,
                route: Int64(min(number, 3)), totals: totals)
            return Topic.session(key, .summaryMetrics).message(JSONCoding.encode(report))
        }
        let routes = (1...3).map { number in
            var totals = RouteSummary()
            totals.distance = Double(number) * 110
            totals.ascent = Double(number)
            totals.polyline = [String(repeating: "_p~iF", count: number)]
            let report = RouteReport(
                revision: Int64(number), state: state, next: [locations: number * 20], chunks: 1, totals: totals)
            return Topic.session(key, .summaryRoute).message(JSONCoding.encode(report))
        }
        let weather = (1...3).map { number in
            let weather = Weather(
                revision: Int64(number), observedAt: Self.start, fetchedAt: Self.start + Double(number),
                temperature: Double(number), condition: .rain, provider: "open-meteo",
                attribution: WeatherAttribution(text: "Open-Meteo", url: "https://open-meteo.com"))
            return Topic.session(key, .weather).message(JSONCoding.encode(weather))
        }
        let presence = ["online", "offline"].map { status in
            Topic.presence(service: "route-builder", ProcessName("one")!).message(
                Array(#"{"at":1,"service":"route-builder","shards":"00-ff","status":"\#(status)","version":"1"}"#.utf8))
        }
        return metrics + routes + weather + presence
    }

    @Test func `any order, duplication and restarts end in the same record`()
        async throws
    {
        var random = SeededRandom()
        for _ in 0..<Tier.runs(6, nightly: 50) {
            let isMeasured = Bool.random(using: &random)
            let calm = try await record { published(isMeasured, state: $0).map { [$0] } }
            for _ in 0..<3 {
                let stormy = try await record { state in
                    let once = published(isMeasured, state: state)
                    let twice = (once + once.filter { _ in Bool.random(using: &random) }).shuffled(using: &random)
                    return twice.flatMap { Int.random(in: 0..<4, using: &random) == 0 ? [[], [$0]] : [[$0]] }
                }
                #expect(stormy == calm, "seed \(random.seed)")
            }
        }
    }

    /// Ends a session, delivers the messages and returns the final record on the bus. An empty delivery is a restart.
    private func record(_ deliveries: (Int64) -> [[MQTTMessage]]) async throws -> String {
        let folder = try TemporaryFolder()
        let clock = ManualClock(now: Self.start)
        var engine: Engine? = try await Engine(folder, clock: clock)
        clock.advance(by: .seconds(60))
        let streams = [samples: 100, locations: 60]
        _ = try await engine?.deliver([
            command(.start(SessionStart(activity: .running, countdown: 0)), at: 0),
            command(.end(streams: streams), at: 60),
        ])
        let state = try #require(engine?.record(key)?.endRevision)
        for messages in deliveries(state) {
            clock.advance(by: .seconds(3))
            if messages.isEmpty {
                // The lock of the store ends with the process.
                engine = nil
                engine = try await Engine(folder, clock: clock)
            } else {
                _ = try await engine?.deliver(messages)
            }
            _ = try await engine?.tick()
        }
        clock.advance(by: .seconds(40))
        _ = try await engine?.tick()
        let sent = try await engine?.connect() ?? []
        let message = try #require(sent.last { $0.topic == Topic.session(key, .workout).name })
        let workout = try JSONCoding.decode(WorkoutRecord.self, from: message.payload)
        #expect(workout.incomplete == nil)
        return String(decoding: message.payload, as: UTF8.self)
            .replacing("\"revision\":\(workout.revision),", with: "")
    }
}
