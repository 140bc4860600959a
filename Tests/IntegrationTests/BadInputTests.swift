import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// Services refuse invalid input as the design says, and nothing else changes.
@Suite(.serialized)
struct BadInputTests {
    private static let now = Date().timeIntervalSince1970
    private static let id = "6f9619ff-8b86-4011-b42d-00c04fc964ff"
    private static let nested = String(repeating: "[", count: 100_000)

    /// Payloads of `samples` and why they are refused.
    private static let batches: [(text: String, reason: String)] = [
        ("", "malformed"), ("{", "malformed"), ("null", "malformed"), ("{\"s\":0}", "malformed"),
        ("{\"s\":0,\"x\":[]}", "malformed"), ("{\"s\":0,\"x\":[{\"c\":NaN}]}", "malformed"),
        ("{\"s\":0,\"x\":[{\"c\":Infinity}]}", "malformed"), ("{\"s\":-1,\"x\":[{}]}", "malformed"),
        ("{\"s\":1e300,\"x\":[{}]}", "malformed"), ("{\"s\":\"0\",\"x\":[{}]}", "malformed"),
        ("{\"s\":0,\"x\":\(nested)", "too_large"), ("\u{0}", "malformed"), ("\u{FEFF}{}", "malformed"),
        ("{\"s\":0,\"x\":[0\(String(repeating: ",0", count: 99_999))]}", "too_large"),
    ]

    /// Commands without a readable sender, which get no reply.
    private static let unanswerable = [
        "", "{", "[]", "7", nested, "{\"x\":\(nested)", "{\"client\":\"mallory-1\",\"type\":\"lap\"}",
        #"{"id":"\#(id)","client":"../x","type":"lap"}"#, #"{"id":"\#(id)","client":"a/b","type":"lap"}"#,
        #"{"id":"\#(id)","client":"\u0023","type":"lap"}"#, #"{"id":"\#(id)","client":"+","type":"lap"}"#,
        #"{"id":"\#(id)","client":"a\u0000","type":"lap"}"#, #"{"id":"\#(id)","client":7,"type":"lap"}"#,
        #"{"id":"\#(id)/x","client":"mallory-1","type":"lap"}"#, #"{"id":1,"client":"mallory-1","type":"lap"}"#,
    ]

    /// Fields of commands, and the field that the reply names.
    private static let answerable: [(fields: String, field: String)] = [
        (#""type":"fly""#, "type"), (#""type":7"#, "type"), (#""at":0"#, "type"),
        (#""type":"lap","at":"now""#, "at"), (#""type":"lap","at":[1]"#, "at"), (#""type":"lap","at":1e999"#, "at"),
        (#""type":"start","at":946684799"#, "at"), (#""type":"start","at":-1e300"#, "at"),
        (#""type":"start","at":\#(now + 90_000)"#, "at"), (#""type":"start","startAt":\#(now + 90_000)"#, "startAt"),
        (#""type":"start","startAt":0"#, "startAt"), (#""type":"start","countdown":-1"#, "countdown"),
        (#""type":"start","countdown":1e300"#, "countdown"), (#""type":"start","activity":"flying""#, "activity"),
        (#""type":"start","activity":1"#, "activity"), (#""type":"start","name":"""#, "name"),
        (#""type":"start","name":"\#(String(repeating: "x", count: 200_000))""#, "name"),
        (#""type":"start","name":"x\#(String(repeating: "\u{301}", count: 50_000))""#, "name"),
        (#""type":"start","timeZone":"../../etc/passwd""#, "timeZone"),
        (#""type":"start","units":null,"mode":1"#, "mode"),
        (#""type":"end","streams":{"samples/a":-1}"#, "streams"),
        (#""type":"end","streams":{"samples/a":1e300}"#, "streams"),
        (#""type":"end","streams":{"samples/a":"1"}"#, "streams"),
        (#""type":"end","streams":{"samples/../a":1}"#, "streams"), (#""type":"end","streams":{"a/b/c":1}"#, "streams"),
        (#""type":"end","streams":{"\#(String(repeating: "x", count: 200_000))":1}"#, "streams"),
    ]

    /// Fields of requests, and the field that the reply names.
    private static let requests: [(fields: String, field: String)] = [
        (#""type":"fly""#, "type"), (#""type":"workouts","limit":0"#, "limit"),
        (#""type":"workouts","limit":1e99"#, "limit"), (#""type":"workouts","before":1e999"#, "before"),
        (#""type":"setProfile""#, "profile"), (#""type":"setProfile","profile":{"weight":1e300}"#, "weight"),
        (#""type":"setProfile","profile":{"birthYear":-9223372036854775808}"#, "birthYear"),
        (#""type":"setProfile","profile":{"zones":[1]}"#, "zones"),
        (#""type":"setProfile","profile":{"timeZone":"../../etc/passwd"}"#, "profile"),
        (#""type":"deleteWorkout","session":"../x""#, "session"),
    ]

    @Test(.timeLimit(.minutes(60)))
    func `invalid payloads are rejected, answered where possible, and change nothing`() async throws {
        let installation = try await Installation()
        try await BusObserver.run(port: installation.broker.port) { observer in
            let expected = try await GoodRun(installation, observer)
            let bad = try BadInput(installation, observer)
            let actual = try await GoodRun(installation, observer, speedUp: 100) {
                try await sendBatches(bad)
                try await sendCommands(bad)
                try await sendRetained(bad)
            }
            #expect(actual.matches(expected))
        }
    }

    private func sendBatches(_ bad: BadInput) async throws {
        let watch = SessionTopic.samples(try #require(Device("watch")))
        let key = SessionKey(bad.user, SessionID(UUID()))
        let topic = Topic.session(key, watch).name
        for (text, reason) in Self.batches {
            let refused = try await bad.refusal(of: Array(text.utf8), to: topic, by: .aggregator)
            #expect(
                refused.reason == reason && refused.topic == topic && refused.bytes == text.utf8.count, "\(refused)")
        }
        let sound = Array(#"{"s":0,"x":[{"c":1.7e9}]}"#.utf8)
        for name in [
            "\(topic.dropLast(5))WATCH", "\(topic.dropLast(5))-", topic.replacing("/mallory/", with: "/Mallory/"),
        ] {
            #expect(try await bad.refusal(of: sound, to: name, by: .aggregator).reason == "bad_topic")
        }
        #expect(bad.observer.latest("\(topic)/ack") == nil)

        #expect(try await bad.reply(to: #""type":"start","at":1.7e9,"countdown":0"#, of: key.session).ok)
        let invalid =
            #"{"s":0,"x":[{"c":1.7e9,"h":1e999},{"c":946684799,"h":80},{"c":\#(Self.now + 90_000)},[7],{"c":1.7e9}]}"#
        _ = try await bad.observer.wait(for: Topic.session(key, .metrics).name)
        #expect(try await bad.refusal(of: Array(invalid.utf8), to: topic, by: .aggregator).reason == "flawed_items")
        let ack = try await bad.observer.wait(for: "\(topic)/ack", within: .seconds(60))
        #expect(try Ack(ack) == .next(5))
        #expect(try await bad.reply(to: #""type":"discard""#, of: key.session).ok)
    }

    private func sendCommands(_ bad: BadInput) async throws {
        let session = SessionID(UUID())
        let topic = Topic.session(SessionKey(bad.user, session), .command).name
        for text in Self.unanswerable {
            let refused = try await bad.refusal(of: Array(text.utf8), to: topic, by: .engine)
            #expect(refused.reason == "malformed" && refused.bytes == text.utf8.count, "\(text.prefix(80)): \(refused)")
        }
        for client in ["../x", "a/b", "#", "+", "a"] {
            #expect(bad.observer.count("pacebus/v1/u/mallory/replies/\(client)") == 0)
        }
        for (fields, field) in Self.answerable {
            let error = try await bad.reply(to: fields, of: session).error
            #expect(error?.code == "invalid_command", "\(fields.prefix(80))")
            #expect(
                error?.message.hasPrefix(field) == true, "\(fields.prefix(80)): \(error?.message.prefix(300) ?? "")")
            #expect(error?.message.utf8.count ?? 0 < 1_000)
        }
        for (fields, field) in Self.requests {
            let error = try await bad.reply(to: fields, on: .user(bad.user, .request)).error
            #expect(error?.code == "invalid_command", "\(fields)")
            #expect(error?.message.hasPrefix(field) == true, "\(fields): \(error?.message ?? "")")
        }
        #expect(try await bad.reply(to: #""type":"lap""#, of: session).error?.code == "session_not_found")
        #expect(bad.observer.count(Topic.session(SessionKey(bad.user, session), .state).name) == 0)
    }

    /// Publishes invalid payloads on topics that only services may write.
    private func sendRetained(_ bad: BadInput) async throws {
        let key = SessionKey(bad.user, SessionID(UUID()))
        for text in ["{", "[]", #"{"revision":"1"}"#, #"{"revision":1e300}"#, #"{"revision":1.5}"#] {
            for (topic, service) in [
                (SessionTopic.state, Installation.Service.engine), (.summaryMetrics, .engine), (.workout, .engine),
                (.state, .aggregator), (.summaryMetrics, .aggregator),
            ] {
                let refused = try await bad.refusal(
                    of: Array(text.utf8), to: Topic.session(key, topic).name, by: service)
                #expect(refused.reason == "malformed")
            }
        }
    }

    @Test(
        .enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"), .timeLimit(.minutes(60)))
    func `a flood of invalid messages leaves memory bounded and other users undisturbed`() async throws {
        let installation = try await Installation()
        try await BusObserver.run(port: installation.broker.port) { observer in
            let expected = try await GoodRun(installation, observer)
            let bad = try BadInput(installation, observer)
            let before = try Installation.workoutServices.map { try #require(try installation.memory($0)) }
            let start = ContinuousClock.now
            let actual = try await GoodRun(installation, observer, speedUp: 100) { try await flood(bad) }
            #expect(actual.matches(expected))
            let after = try Installation.workoutServices.map {
                try #require(try installation.memory($0), "\($0) has ended")
            }
            print("memory in KiB before and after the flood: \(before), \(after)")
            // Messages of 64 MiB may wait in a process, each with its topic; the flood is three times as much.
            for (before, after) in zip(before, after) { #expect(after - before < 130_000) }
            // The limit is 100 at once and 10 a second since the process started.
            let seconds = Double((ContinuousClock.now - start).components.seconds) + 10
            let rejected = observer.count(BadInput.refusals(.engine))
            #expect(rejected >= 100 && Double(rejected) <= 100 + 10 * seconds, "\(rejected)")
        }
    }

    private func flood(_ bad: BadInput) async throws {
        let watch = SessionTopic.samples(try #require(Device("watch")))
        func unknown(_ topic: SessionTopic) -> String {
            Topic.session(SessionKey(bad.user, SessionID(UUID())), topic).name
        }
        for topic in [SessionTopic.command, watch, .request, .state] {
            try await bad.sendLarge(bytes: 1_000_000, to: unknown(topic))
        }
        func send(_ text: String, _ topic: SessionTopic) async {
            await bad.observer.publish(MQTTMessage(topic: unknown(topic), payload: Array(text.utf8), qos: .atMostOnce))
        }
        for _ in 0..<10_000 { await send(#"{"s":0,"x":[{"c":1.7e9,"h":80}]}"#, watch) }
        // Different topics of the maximum length.
        let device = String(repeating: "x", count: 60_000)
        for _ in 0..<1_500 {
            let message = MQTTMessage(
                topic: "\(unknown(watch))\(device)", payload: Array("{}".utf8), qos: .atMostOnce)
            await bad.observer.publish(message)
        }
        // More than any buffer holds.
        let large = #"{"s":0,"q":"\#(String(repeating: "x", count: 250_000))","x":[{"c":1.7e9}]}"#
        for _ in 0..<400 { await send(large, watch) }
        for _ in 0..<1_000 { await send("{", .command) }
        for _ in 0..<1_000 {
            await send(#"{"id":"\#(UUID().uuidString.lowercased())","client":"\#(bad.client)","type":"lap"}"#, .command)
        }
        for _ in 0..<1_000 { await send("{}", .request) }
        #expect(try await bad.reply(to: #""type":"lap""#, of: SessionID(UUID())).error?.code == "session_not_found")
    }
}
