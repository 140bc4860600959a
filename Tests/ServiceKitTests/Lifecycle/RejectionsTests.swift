import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@Suite struct RejectionsTests {
    private let start = Timestamp(seconds: 1_735_689_600)

    /// The number of published rejections out of `count` at one moment.
    private func published(
        _ count: Int, _ rejections: inout Rejections, at time: Timestamp, stepped step: Double = 0
    ) -> Int {
        let now = Moment(time).stepped(by: step)
        return (0..<count).count { _ in rejections.reject(topic: "t", payload: [], reason: "r", at: now) != nil }
    }

    @Test func `a burst of 100 is published, and the rest only counted`() {
        var rejections = Rejections(service: "session-engine")
        #expect(published(250, &rejections, at: start) == 100)
        #expect(rejections.count == 250)
    }

    @Test func `ten a second are published after a burst`() {
        var rejections = Rejections(service: "session-engine")
        _ = published(100, &rejections, at: start)
        #expect(published(50, &rejections, at: start + 0.05) == 0)
        #expect(published(50, &rejections, at: start + 1) == 10)
        #expect(published(50, &rejections, at: start + 3) == 20)
        #expect(published(500, &rejections, at: start + 3600) == 100)
    }

    @Test func `a wall clock that steps earns nothing`() {
        var rejections = Rejections(service: "session-engine")
        _ = published(100, &rejections, at: start)
        #expect(published(50, &rejections, at: start, stepped: 3_600) == 0)
        #expect(published(50, &rejections, at: start + 1, stepped: -3_600) == 10)
    }

    @Test func `the message has topic, reason, size and the first 256 bytes`() throws {
        var rejections = Rejections(service: "metrics-aggregator")
        let payload = [0xff] + [UInt8](repeating: UInt8(ascii: "x"), count: 300)
        let rejection = rejections.reject(
            topic: "pacebus/v1/a", payload: payload[...], reason: "not JSON", at: Moment(start))
        let message = try #require(rejection)
        #expect(message.topic == "pacebus/v1/rejected/_metrics-aggregator")
        #expect(!message.retain)
        let head = "\u{fffd}" + String(repeating: "x", count: 255)
        #expect(
            String(decoding: message.payload, as: UTF8.self)
                == #"{"at":1735689600,"bytes":301,"head":"\#(head)","reason":"not JSON","topic":"pacebus/v1/a"}"#)
    }
}
