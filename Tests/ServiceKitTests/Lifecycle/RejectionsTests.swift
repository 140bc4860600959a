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
        let message = MQTTMessage(topic: "t", payload: [], qos: .atMostOnce)
        return (0..<count).count { _ in
            !rejections.reject(message, Rejection(topic: "t", reason: "r"), at: now).isEmpty
        }
    }

    @Test func `a burst of 100 is published`() {
        var rejections = Rejections(service: "session-engine", logger: .silent)
        #expect(published(250, &rejections, at: start) == 100)
    }

    @Test func `a burst of 20 is logged, and one a second after it`() {
        let log = LogRecorder()
        var rejections = Rejections(service: "session-engine", logger: log.logger)
        _ = published(50, &rejections, at: start)
        #expect(log.lines.count == 20)
        _ = published(50, &rejections, at: start + 3)
        #expect(log.lines.count == 23)
    }

    @Test func `ten a second are published after a burst`() {
        var rejections = Rejections(service: "session-engine", logger: .silent)
        _ = published(100, &rejections, at: start)
        #expect(published(50, &rejections, at: start + 0.05) == 0)
        #expect(published(50, &rejections, at: start + 1) == 10)
        #expect(published(50, &rejections, at: start + 3) == 20)
        #expect(published(500, &rejections, at: start + 3600) == 100)
    }

    @Test func `a wall clock that steps earns nothing`() {
        var rejections = Rejections(service: "session-engine", logger: .silent)
        _ = published(100, &rejections, at: start)
        #expect(published(50, &rejections, at: start, stepped: 3_600) == 0)
        #expect(published(50, &rejections, at: start + 1, stepped: -3_600) == 10)
    }

    @Test func `the message has topic, reason, size and the first 256 bytes`() throws {
        var rejections = Rejections(service: "metrics-aggregator", logger: .silent)
        let payload = [0xff] + [UInt8](repeating: UInt8(ascii: "x"), count: 300)
        let rejected = MQTTMessage(topic: "pacebus/v1/a", payload: payload[...], qos: .atMostOnce)
        let reports = rejections.reject(
            rejected, Rejection(topic: "pacebus/v1/a", reason: "not JSON"), at: Moment(start))
        #expect(reports.count == 1)
        let message = try #require(reports.first)
        #expect(message.topic == "pacebus/v1/rejected/_metrics-aggregator")
        #expect(!message.retain)
        let head = "\u{fffd}" + String(repeating: "x", count: 255)
        #expect(
            String(decoding: message.payload, as: UTF8.self)
                == #"{"at":1735689600,"bytes":301,"head":"\#(head)","reason":"not JSON","topic":"pacebus/v1/a"}"#)
    }

    // MARK: To users

    private static let session = "pacebus/v1/ff/anna/6f9619ff-8b86-d011-b42d-00c04fc964ff"

    /// The number of messages to the user out of `count` rejected payloads at one moment.
    private func told(
        _ count: Int, _ user: String, _ rejections: inout Rejections, at time: Timestamp
    ) -> Int {
        let topic = Self.session.replacing("anna", with: user) + "/command"
        let message = MQTTMessage(topic: topic, payload: [], qos: .atMostOnce)
        return (0..<count).reduce(0) { sum, _ in
            let sent = rejections.reject(message, Rejection(topic: topic, reason: "r"), at: Moment(time))
            return sum + sent.count { $0.topic == "pacebus/v1/u/\(user)/rejected" }
        }
    }

    @Test func `a user receives one message a second in bursts of 20, whatever others do`() {
        var rejections = Rejections(service: "session-engine", logger: .silent)
        #expect(told(500, "mallory", &rejections, at: start) == 20)
        #expect(told(30, "anna", &rejections, at: start) == 20)
        #expect(told(30, "anna", &rejections, at: start + 3) == 3)
        #expect(told(30, "mallory", &rejections, at: start + 60) == 20)
    }

    @Test func `many users take bounded memory and leave room when they rest`() {
        var rejections = Rejections(service: "session-engine", logger: .silent)
        let first = (0..<6_000).reduce(0) { $0 + told(1, "u\($1)", &rejections, at: start) }
        #expect(first == 5_000)
        #expect(told(1, "late", &rejections, at: start + 0.5) == 0)
        #expect(told(1, "late", &rejections, at: start + 30) == 1)
    }

    @Test func `the user learns topic, reason, field, value and item of the payload`() throws {
        var rejections = Rejections(service: "metrics-aggregator", logger: .silent)
        var error = PayloadError.malformed("item 7: h is not a number", field: "h", value: "\"\u{1B}[2J\"")
        error.item = 7
        let message = MQTTMessage(topic: "\(Self.session)/samples/watch", payload: [1], qos: .atMostOnce)
        let sent = rejections.reject(message, Rejection(topic: message.topic, error: error), at: Moment(start))
        let told = try #require(sent.last)
        #expect(told.topic == "pacebus/v1/u/anna/rejected")
        #expect(!told.retain && told.qos == .atMostOnce)
        let text = String(decoding: told.payload, as: UTF8.self)
        #expect(text.contains(#""field":"h""#) && text.contains(#""item":7"#) && text.contains(#"\u001b[2J"#))
        #expect(try JSONCoding.decode(Rejection.self, from: told.payload).value == error.value)
    }

    @Test(arguments: ["metrics", "state", "summary/metrics", "samples/watch/ack"])
    func `what a service published concerns operators alone`(topic: String) {
        var rejections = Rejections(service: "session-engine", logger: .silent)
        let name = "\(Self.session)/\(topic)"
        let sent = rejections.reject(
            MQTTMessage(topic: name, payload: [], qos: .atMostOnce), Rejection(topic: name, reason: "malformed"),
            at: Moment(start))
        #expect(sent.map(\.topic) == ["pacebus/v1/rejected/_session-engine"])
    }
}
