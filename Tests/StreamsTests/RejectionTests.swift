import Bus
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// What the user receives about refused items.
@Suite struct RejectionTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_100))
    private let script = Script()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func rejections(_ messages: [MQTTMessage], after advance: Duration = .zero) async throws -> [Rejection] {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage])
        var sent = try await aggregator.deliver(messages)
        clock.advance(by: advance)
        sent += try await aggregator.tick()
        return try sent.payloads(.user(script.key.user, .rejected)).map {
            try JSONCoding.decode(Rejection.self, from: $0)
        }
    }

    private func message(_ text: String, to topic: String? = nil) -> MQTTMessage {
        let name = topic ?? Topic.session(script.key, .samples(Device("watch-1")!)).name
        return MQTTMessage(topic: name, payload: Array(text.utf8)[...], qos: .atMostOnce)
    }

    @Test func `flawed items are named once`() async throws {
        let batch = message(
            #"{"s":0,"x":[{"c":1700000000},{"c":1700000001,"h":999,"w":-1},{"c":1700000002,"d":9000}]}"#)
        let found = try await rejections([batch, batch])
        #expect(found.map(\.field) == ["h", "d"])
        #expect(found.map(\.item) == [1, 2])
        #expect(found.map(\.value) == ["999", "9000.0"])
        #expect(found.allSatisfy { $0.reason == "flawed_items" && $0.topic == batch.topic })
    }

    @Test func `a broken batch, a topic in upper case and one that is none are reported`() async throws {
        let key = script.key
        let upper = "pacebus/v1/\(key.session.shard)/demo/\("\(key.session)".uppercased())/samples/watch-1"
        let found = try await rejections([
            message(#"{"s":0,"x":"#), message(#"{"s":0,"x":[{"c":1700000000}]}"#, to: upper),
            message("{}", to: "pacebus/v1/00/demo/x/samples/watch-1"),
        ])
        #expect(found.map(\.reason) == ["malformed", "uppercase_session", "bad_topic"])
        #expect(found[1].topic == upper)
    }

    @Test func `items whose session never begins are reported when they are dropped`() async throws {
        let other = Script()
        let found = try await rejections(
            [
                other.batch("watch-1", 0, [Sample(time: clock.now)]),
                other.batch("watch-1", 1, [Sample(time: clock.now)]),
            ],
            after: .seconds(61))
        #expect(found.map(\.reason) == ["session_unknown"])
    }
}
