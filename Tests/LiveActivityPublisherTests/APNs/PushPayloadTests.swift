import Foundation
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

struct PushPayloadTests {
    private let attributes = ActivityAttributes(
        symbol: "figure.run", workoutActivityType: 37, workoutName: "Outdoor Running")
    private let now = APNsWorld.now

    private func text(_ payload: PushPayload) -> String {
        String(decoding: payload.bytes, as: UTF8.self)
    }

    private let state =
        #""content-state":{"asOf":1735689600,"distance":203.25,"elapsedTime":61.5,"heartRate":142,"isFinished":false,"isPaused":false,"lap":1,"units":"metric"}"#

    @Test func `a start contains everything a phone needs without the app`() {
        let payload = PushPayload(
            event: .start(attributes, .init(title: "Outdoor Running", body: "Has begun")), timestamp: now + 0.9,
            state: APNsWorld.state(), staleDate: now + 15.9)
        let begin =
            #"{"aps":{"alert":{"body":"Has begun","title":"Outdoor Running"},"attributes":{"symbol":"figure.run","workoutActivityType":37,"workoutName":"Outdoor Running"},"attributes-type":"WorkoutWidgetAttributes","#
        let end =
            #","event":"start","input-push-token":1,"relevance-score":100,"stale-date":1735689615,"timestamp":1735689600}}"#
        #expect(text(payload) == begin + state + end)
    }

    @Test func `an update contains the state and its stale date`() {
        let end = #","event":"update","relevance-score":100,"stale-date":1735689615,"timestamp":1735689600}}"#
        #expect(text(APNsWorld.update()) == #"{"aps":{"# + state + end)
    }

    @Test func `an end contains its dismissal date`() {
        let payload = PushPayload(event: .end(dismissalDate: now + 60), timestamp: now, state: APNsWorld.state())
        let end = #","dismissal-date":1735689660,"event":"end","relevance-score":100,"timestamp":1735689600}}"#
        #expect(text(payload) == #"{"aps":{"# + state + end)
    }

    @Test func `every state value has its own key, in key order`() throws {
        var full = APNsWorld.state()
        full.isPaused = true
        full.isFinished = true
        full.activeEnergy = 10
        full.averageHeartRate = 130
        full.maximumHeartRate = 171
        full.pace = 302.5
        full.speed = 3.25
        full.cadence = 168
        full.power = 250
        full.ascent = 12.5
        full.lap = 3
        full.banner = .liveMetricsUnavailable
        full.units = .imperial
        var payload = APNsWorld.update()
        payload.state = full
        let expected =
            #""content-state":{"activeEnergy":10,"asOf":1735689600,"ascent":12.5,"averageHeartRate":130,"banner":"liveMetricsUnavailable","cadence":168,"distance":203.25,"elapsedTime":61.5,"heartRate":142,"isFinished":true,"isPaused":true,"lap":3,"maximumHeartRate":171,"pace":302.5,"power":250,"speed":3.25,"units":"imperial"}"#
        #expect(text(payload).contains(expected))
        // The keys equal the property names, and none is missing.
        let sent = try #require(try JSONSerialization.jsonObject(with: Data(payload.bytes)) as? [String: Any])
        let aps = try #require(sent["aps"] as? [String: Any])
        let names = try #require(aps["content-state"] as? [String: Any]).keys
        let properties = Set(Mirror(reflecting: full).children.compactMap(\.label))
        #expect(Set(names) == properties.subtracting(["block", "partner"]))
    }

    @Test func `plan values are in key order among the others`() throws {
        var payload = APNsWorld.update()
        payload.state.block = PlanBlock(
            cue: .init(exercise: "Clean \"& jerk\"", phase: .rest, round: 2, set: 3), phaseEndsAt: 1_735_689_630.5,
            rounds: 5, sets: 4, done: 1, total: 6)
        let running =
            #"{"asOf":1735689600,"distance":203.25,"elapsedTime":61.5,"exercise":"Clean \"& jerk\"","exercisesDone":1,"exercisesTotal":6,"heartRate":142,"isFinished":false,"isPaused":false,"lap":1,"phase":"rest","phaseEndsAt":1735689630.5,"round":2,"rounds":5,"set":3,"sets":4,"units":"metric"}"#
        #expect(text(payload).contains(running))
        payload.state.block?.phaseEndsAt = nil
        payload.state.block?.phaseRemaining = 12.25
        payload.state.block?.rounds = nil
        payload.state.block?.cue.set = nil
        #expect(text(payload).contains(#""phase":"rest","phaseRemaining":12.25,"round":2,"sets":4,"units""#))
        let sent = try JSONDecoder().decode(APNsServer.Payload.self, from: Data(payload.bytes))
        #expect(sent.aps.contentState.exercise == "Clean \"& jerk\"")
    }

    @Test func `values that JSON cannot represent are omitted`() throws {
        var payload = APNsWorld.update()
        payload.state.heartRate = .nan
        payload.state.distance = .infinity
        payload.state.speed = -.infinity
        let sent = try JSONDecoder().decode(APNsServer.Payload.self, from: Data(payload.bytes))
        #expect(sent.aps.contentState.heartRate == nil && sent.aps.contentState.distance == nil)
        #expect(sent.aps.contentState.elapsedTime == 61.5)
    }

    @Test func `a short text is unchanged, and a longer one is truncated between characters`() {
        #expect("Mittagslauf 🏃🏽‍♀️".escapedForJSON(limit: 512) == "Mittagslauf 🏃🏽‍♀️")
        #expect("say \"a\\b\"\n\u{1}".escapedForJSON(limit: 512) == #"say \"a\\b\"\u000a\u0001"#)
        #expect("abcdefgh".escapedForJSON(limit: 8) == "abcdefgh")
        #expect("abcdefghi".escapedForJSON(limit: 8) == "abcde…")
        #expect("abcdé".escapedForJSON(limit: 6) == "abcdé")
        #expect("abcdéf".escapedForJSON(limit: 6) == "abc…")
        #expect("\"\"\"\"".escapedForJSON(limit: 8) == #"\"\"\"\""#)
        #expect("\"\"\"\"\"".escapedForJSON(limit: 8) == #"\"\"…"#)
        #expect("🏃🏽‍♀️🏃🏽‍♀️".escapedForJSON(limit: 20) == "🏃🏽‍♀️…")
        #expect("🏃🏽‍♀️🏃🏽‍♀️".escapedForJSON(limit: 18) == "…")
    }

    @Test func `for any texts and values a push is JSON of at most 4,096 bytes`() throws {
        var random = SeededRandom()
        for _ in 0..<2_000 {
            let payload = random.payload()
            let bytes = payload.bytes
            #expect(bytes.count <= PushPayload.sizeLimit)
            let sent = try JSONDecoder().decode(APNsServer.Payload.self, from: Data(bytes)).aps
            #expect(sent.timestamp == Int(payload.timestamp.seconds.rounded(.down)))
            guard case .start(let attributes, let alert) = payload.event else { continue }
            for (text, original) in [
                (sent.attributes?.workoutName, attributes.workoutName), (sent.alert?.title, alert.title),
                (sent.alert?.body, alert.body), (sent.attributes?.symbol, attributes.symbol),
            ] {
                let text = try #require(text)
                #expect(text == original || text.last == "…" && original.hasPrefix(text.dropLast()))
            }
        }
    }

    @Test func `the longest push stays below the limit`() {
        let long = String(repeating: "\u{1}", count: 10_000)
        var state = APNsWorld.state()
        let widest = -Double.greatestFiniteMagnitude
        (state.elapsedTime, state.asOf, state.lap) = (widest, widest, .min)
        for path in [
            \ContentState.distance, \.activeEnergy, \.heartRate, \.averageHeartRate, \.maximumHeartRate, \.pace,
            \.speed,
            \.cadence, \.power, \.ascent,
        ] {
            state[keyPath: path] = widest
        }
        state.banner = .liveMetricsUnavailable
        state.block = PlanBlock(
            cue: .init(exercise: long, phase: .work, round: .min, set: .min), phaseEndsAt: widest,
            phaseRemaining: widest, rounds: .min, sets: .min, done: .min, total: .min)
        let attributes = ActivityAttributes(symbol: long, workoutActivityType: .min, workoutName: long)
        let payload = PushPayload(
            event: .start(attributes, .init(title: long, body: long)),
            timestamp: Timestamp(microseconds: .min), state: state, staleDate: Timestamp(microseconds: .min),
            relevanceScore: widest)
        #expect(payload.bytes.count < PushPayload.sizeLimit - 1_000)
    }
}

extension SeededRandom {
    fileprivate mutating func payload() -> PushPayload {
        let attributes = ActivityAttributes(
            symbol: text(), workoutActivityType: Int.random(in: .min ... .max, using: &self), workoutName: text())
        var state = ContentState(
            elapsedTime: number(), asOf: number(), isPaused: .random(using: &self), isFinished: .random(using: &self),
            distance: number(), activeEnergy: number(), heartRate: number(), averageHeartRate: number(),
            maximumHeartRate: number(), pace: number(), speed: number(), cadence: number(), power: number(),
            ascent: number(), lap: Int.random(in: .min ... .max, using: &self), banner: .liveMetricsUnavailable,
            units: .metric)
        if Bool.random(using: &self) {
            state.block = PlanBlock(
                cue: .init(
                    exercise: text(), phase: .over, round: Int.random(in: .min ... .max, using: &self),
                    set: Int.random(in: .min ... .max, using: &self)), phaseEndsAt: number(), phaseRemaining: number(),
                rounds: Int.random(in: .min ... .max, using: &self), sets: 1, done: 1, total: 1)
        }
        let time = Timestamp(seconds: Double.random(in: -4e12...4e12, using: &self))
        let events: [PushPayload.Event] = [
            .start(attributes, .init(title: text(), body: text())), .start(attributes, .init(title: "t", body: text())),
            .update, .end(dismissalDate: time),
        ]
        return PushPayload(event: events.randomElement(using: &self)!, timestamp: time, state: state, staleDate: time)
    }

    private mutating func number() -> Double {
        let number = Double(bitPattern: next())
        return number.isFinite ? number : 0
    }

    /// A text of any characters, from none to thousands.
    private mutating func text() -> String {
        let pieces = ["a", "\"", "\\", "\n", "\u{0}", "ß", "€", "🏃🏽‍♀️", "e\u{301}", "\u{2028}", "\u{7f}", "한", "\r\n"]
        let own = (0..<Int.random(in: 1...3, using: &self)).map { _ in pieces.randomElement(using: &self)! }
        let count = [0, 1, 20, 100, 200, 600, 3_000].randomElement(using: &self)!
        return (0..<count).map { _ in own.randomElement(using: &self)! }.joined()
    }
}
