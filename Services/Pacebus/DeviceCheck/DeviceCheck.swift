import Bus
import Foundation
import MQTT
import ServiceKit
import Workouts

/// Plays the services against one device: answers as they do, and as they do only after faults. A value without a
/// clock.
///
/// The device records two workouts. The steps of the first one follow each other on its first stream; in the second one that
/// stream is refused as reused.
struct DeviceCheck {
    /// How far the played clock is ahead.
    static let clockOffset = 120.0
    private static let slack = 10.0

    private enum Step: Equatable {
        /// No acknowledgement until the first batch comes again.
        case lostAcknowledgement
        /// The batch at `next` is dropped.
        case gap
        case newEpoch
        /// A number below `next` was sent, unasked.
        case late
        /// The repeated batch is answered with a lower number.
        case restored
        case tooMany
        case over
    }

    /// What is awaited of the device in a step.
    private struct Wait {
        let number: Int
        let since: Double
        /// The repetition was seen, and the lower number sent.
        var isAnswered = false
    }

    private(set) var findings = DeviceFindings()
    /// Workouts that are over.
    private(set) var workouts = 0

    private let user: User
    private var session: SessionKey?
    private var streams: [StreamName: CheckedStream] = [:]
    private var main: StreamName?
    private var step = Step.lostAcknowledgement
    private var wait: Wait?
    private var epoch: Int64 = 1
    /// The newest command of each kind, and when it first came.
    private var commands: [SessionAction.Kind: (id: CommandID, at: Double)] = [:]
    private var isStartAnswered = false
    private var end: [StreamName: Int]?
    private var finishedAt: Double?
    private var reusedAt: Double?
    private var acknowledgedAt = 0.0
    private var ended: Set<SessionKey> = []

    init(user: User) { self.user = user }

    // MARK: Messages

    /// - Parameter now: Unix seconds of this machine.
    mutating func receive(_ message: MQTTMessage, _ now: Double) -> [MQTTMessage] {
        guard case .session(let key, let topic) = Topic(message.topic), key.user == user, !ended.contains(key) else {
            return []
        }
        if session != key {
            guard session == nil else { return [] }
            session = key
        }
        switch topic {
        case .command: return receiveCommand(message.payload, now)
        case .samples(let device): return receiveBatch(message.payload, StreamName(.samples, device), now)
        case .locations(let device): return receiveBatch(message.payload, StreamName(.locations, device), now)
        default: return []
        }
    }

    /// What is due now, every tenth of a second.
    mutating func tick(_ now: Double) -> [MQTTMessage] {
        var sent: [MQTTMessage] = []
        if let wait { sent += advance(wait, now) }
        if now - acknowledgedAt >= 1 {
            acknowledgedAt = now
            for name in streams.keys.sorted() where streams[name]?.isAcknowledgementDue == true {
                sent += acknowledge(name, now)
            }
        }
        if let finishedAt, now - finishedAt >= Self.slack {
            note(.quiet, .pass)
            finish()
        }
        if let reusedAt, now - reusedAt >= 3 * Self.slack {
            note(.streamReused, .fail("nothing came under another name within 30 s"))
            self.reusedAt = nil
        }
        return sent
    }

    mutating func takeNews() -> [DeviceRule] { findings.takeNews() }

    private mutating func note(_ rule: DeviceRule, _ finding: DeviceFinding) { findings.note(rule, finding) }

    // MARK: Commands

    private mutating func receiveCommand(_ payload: ArraySlice<UInt8>, _ now: Double) -> [MQTTMessage] {
        guard let command = try? JSONCoding.decode(Command.self, from: payload) else {
            note(.readable, .fail("a command is malformed: \(String(decoding: payload.prefix(200), as: UTF8.self))"))
            return []
        }
        findings.pass(.readable)
        let kind = command.action.kind
        if finishedAt != nil, kind != .end { note(.quiet, .fail("\(kind.rawValue) came after the finished workout")) }
        let known = commands[kind]
        if let known, known.id != command.id, kind == .start || kind == .end {
            note(.commandOnce, .fail("\(kind.rawValue) came again under another id"))
        }
        if known?.id != command.id { commands[kind] = (command.id, now) }
        if kind == .start, workouts == 0, !isStartAnswered {
            // The first one gets no reply.
            guard let known, known.id == command.id else { return [] }
            let passed = now - known.at
            note(
                .commandRepeated,
                (4...7).contains(passed) ? .pass : .slow("after \(seconds(passed)) s instead of 5 s"))
        }
        if kind == .start { isStartAnswered = true }
        if case .end(let announced) = command.action { receiveEnd(announced, at: command.at, now) }
        guard let client = command.client else { return finishIfComplete(now) }
        var reply = Reply(id: command.id, revision: Int64(now * 1000), now: clock(now))
        reply.at = command.at
        let message = Topic.user(user, .replies(client)).message(JSONCoding.encode(reply))
        // Twice: MQTT may repeat it.
        return [message, message] + finishIfComplete(now)
    }

    private mutating func receiveEnd(_ announced: [StreamName: Int], at: Timestamp?, _ now: Double) {
        end = announced
        for stream in streams.values where (announced[stream.name] ?? 0) < stream.count {
            let number = announced[stream.name].map(String.init) ?? "nothing"
            note(
                .announcedStreams,
                .fail("end announces \(number) of \(stream.name), which has \(stream.count)"))
        }
        if !streams.isEmpty { findings.pass(.announcedStreams) }
        guard workouts == 0, let at else { return }
        let off = abs(at.seconds(since: clock(now)))
        note(.clock, off <= Self.slack ? .pass : .slow("`at` of end is \(seconds(off)) s off the server's clock"))
    }

    // MARK: Items

    private mutating func receiveBatch(
        _ payload: ArraySlice<UInt8>, _ name: StreamName, _ now: Double
    ) -> [MQTTMessage] {
        guard let batch = CheckedBatch(payload) else {
            note(.readable, .fail("a batch of \(name) has no `s`, or not 1 to 1,000 items"))
            return []
        }
        if finishedAt != nil { note(.quiet, .fail("items of \(name) came after the finished workout")) }
        if workouts == 1, main == nil || main == name { return refuse(name, now) }
        if reusedAt != nil, name.kind == main?.kind {
            note(.streamReused, batch.first == 0 ? .pass : .fail("\(name) begins at \(batch.first)"))
            reusedAt = nil
        }
        if main == nil { main = name }
        guard streams[name, default: CheckedStream(name)].receive(batch, &findings) else { return [] }
        if name == main, step != .over, workouts == 0, let answer = play(batch, name, now) { return answer }
        return store(batch, name, now)
    }

    private mutating func store(_ batch: CheckedBatch, _ name: StreamName, _ now: Double) -> [MQTTMessage] {
        guard let next = streams[name]?.next else { return [] }
        streams[name]?.isAcknowledgementDue = true
        guard batch.first <= next else { return acknowledge(name, now) + acknowledge(name, now) }
        streams[name]?.next = max(next, batch.end)
        return (batch.asksAck ? acknowledge(name, now) : []) + finishIfComplete(now)
    }

    private mutating func acknowledge(_ name: StreamName, _ now: Double, _ number: Int? = nil) -> [MQTTMessage] {
        guard let session, let stream = streams[name] else { return [] }
        if number == nil {
            streams[name]?.batches = 0
            streams[name]?.isAcknowledgementDue = false
        }
        return [answer(.next(number ?? stream.next), name, session, now)]
    }

    private func answer(_ ack: Ack, _ name: StreamName, _ session: SessionKey, _ now: Double) -> MQTTMessage {
        Topic.session(session, name.kind.ack(name.device)).message(ack.payload(now: clock(now), epoch: epoch))
    }

    /// In the second workout the first stream is refused, until the items come under another name.
    private mutating func refuse(_ name: StreamName, _ now: Double) -> [MQTTMessage] {
        guard let session else { return [] }
        main = name
        if reusedAt == nil, findings[.streamReused] == nil { reusedAt = now }
        if let reusedAt, now - reusedAt > Self.slack {
            note(.streamReused, .fail("\(name) is still sent 10 s after `stream_reused`"))
        }
        return [answer(.streamReused, name, session, now)]
    }

    // MARK: The steps

    /// Handles a batch of the first stream in a step. `nil`: it is stored as usual.
    private mutating func play(_ batch: CheckedBatch, _ name: StreamName, _ now: Double) -> [MQTTMessage]? {
        guard let session, let next = streams[name]?.next else { return nil }
        let first = batch.first
        switch step {
        case .lostAcknowledgement:
            guard let wait else {
                self.wait = Wait(number: first, since: now)
                return []
            }
            guard first == wait.number else { return [] }
            pass(.lostAcknowledgement, after: now - wait.since, within: 4...8, then: .gap)
            let count = streams[name]?.count ?? 0
            streams[name]?.next = count
            return acknowledge(name, now)
        case .gap:
            guard let wait else {
                guard next >= 5, first == next else { return nil }
                self.wait = Wait(number: first, since: now)
                return []
            }
            if first == wait.number {
                pass(.gap, after: now - wait.since, within: 0...8, then: .newEpoch)
                return nil
            }
            return acknowledge(name, now) + acknowledge(name, now)
        case .newEpoch:
            guard let wait else {
                guard first == next else { return nil }
                self.wait = Wait(number: first, since: now)
                epoch += 1
                return acknowledge(name, now)
            }
            guard first == wait.number else { return [] }
            pass(.newEpoch, after: now - wait.since, within: 0...3, then: .late)
            return nil
        case .late:
            guard let wait else {
                guard next >= 5, first == next else { return nil }
                let stored = store(batch, name, now)
                self.wait = Wait(number: streams[name]?.next ?? 0, since: now)
                return stored + acknowledge(name, now, next - 5)
            }
            if first < wait.number { note(.lateAcknowledgement, .fail("the items from \(first) on came again")) }
            return nil
        case .restored:
            guard var wait else {
                guard next >= 5, first == next else { return nil }
                self.wait = Wait(number: first, since: now)
                return []
            }
            if wait.isAnswered {
                guard first <= next else { return acknowledge(name, now) }
                pass(.restored, after: 0, within: 0...1, then: .tooMany)
                return nil
            }
            guard first == wait.number, now - wait.since >= 4 else { return [] }
            wait = Wait(number: first - 5, since: now, isAnswered: true)
            self.wait = wait
            streams[name]?.next = wait.number
            return acknowledge(name, now)
        case .tooMany:
            guard let wait else {
                self.wait = Wait(number: next, since: now)
                return [answer(.tooManyItems(next: next, retryAfter: 5), name, session, now)]
            }
            let passed = now - wait.since
            // What was under way when the answer left.
            if passed < 1 { return [] }
            if passed < 4.5 {
                note(.tooManyItems, .fail("items came after \(seconds(passed)) s, retryAfter was 5"))
            }
            pass(.tooManyItems, after: passed, within: 4.5...15, then: .over)
            return nil
        case .over: return nil
        }
    }

    private mutating func pass(
        _ rule: DeviceRule, after passed: Double, within times: ClosedRange<Double>, then next: Step
    ) {
        note(rule, times.contains(passed) ? .pass : .slow("after \(seconds(passed)) s"))
        (step, wait) = (next, nil)
    }

    /// A step that waits for too long has failed, but for the one in which nothing is to come.
    private mutating func advance(_ wait: Wait, _ now: Double) -> [MQTTMessage] {
        let passed = now - wait.since
        let (rule, limit, next): (DeviceRule, Double, Step)
        switch step {
        case .lostAcknowledgement: (rule, limit, next) = (.lostAcknowledgement, 15, .gap)
        case .gap: (rule, limit, next) = (.gap, 15, .newEpoch)
        case .newEpoch: (rule, limit, next) = (.newEpoch, 65, .late)
        case .late:
            if passed >= 4 {
                note(.lateAcknowledgement, .pass)
                (step, self.wait) = (.restored, nil)
            }
            return []
        case .restored: (rule, limit, next) = (.restored, 65, .tooMany)
        case .tooMany: (rule, limit, next) = (.tooManyItems, 60, .over)
        case .over: return []
        }
        guard passed >= limit else { return [] }
        if step == .tooMany {
            note(rule, .slow("it sent nothing for 60 s after `too_many_items`; start it again, and the check goes on"))
        } else {
            note(rule, .fail("the items from \(wait.number) on did not come within \(Int(limit)) s"))
        }
        (step, self.wait) = (next, nil)
        return main.map { acknowledge($0, now) } ?? []
    }

    // MARK: The end

    /// Publishes the workout once all announced items are there.
    private mutating func finishIfComplete(_ now: Double) -> [MQTTMessage] {
        guard let end, let session, finishedAt == nil else { return [] }
        let isComplete = end.allSatisfy { name, count in
            count == 0 || (streams[name]?.next ?? 0) >= count || (workouts == 1 && name == main)
        }
        guard isComplete else { return [] }
        finishedAt = now
        findings.pass(.window)
        findings.pass(.commandOnce)
        let next = Dictionary(uniqueKeysWithValues: end.map { ("\($0)", max($1, streams[$0]?.next ?? 0)) })
        let record: [String: Any] = [
            "session": "\(session.session)", "user": "\(user)", "revision": Int64(now * 1000), "activity": "running",
            "environment": "outdoor", "name": "Device check", "mode": "phone", "segments": [[Double]](),
            "activeDuration": 0, "elapsedDuration": 0, "distance": 0, "averageHeartRate": 0, "splits": [String](),
            "laps": [String](), "next": next, "summaries": [String: Int64](),
        ]
        let payload = (try? JSONSerialization.data(withJSONObject: record, options: .sortedKeys)) ?? Data()
        return [Topic.session(session, .workout).message(Array(payload))]
    }

    private mutating func finish() {
        if let session { ended.insert(session) }
        workouts += 1
        (session, streams, main, end, finishedAt, wait) = (nil, [:], nil, nil, nil, nil)
        (commands, isStartAnswered) = ([:], false)
    }

    private func clock(_ now: Double) -> Timestamp { Timestamp(seconds: now + Self.clockOffset) }
}

private func seconds(_ value: Double) -> String { String(format: "%.1f", value) }
