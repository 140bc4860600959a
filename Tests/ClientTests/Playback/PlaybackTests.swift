import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client
@testable import Formats

@Suite struct PlaybackTests {
    private let start = Timestamp(seconds: 1_700_000_000)
    private let header = QueueHeader(
        user: User("ann")!, session: SessionID(UUID()), device: Device("watch-1")!,
        beganAt: Timestamp(seconds: 1_800_000_000), source: .simulation(seed: 1))
    private let now = Moment(Timestamp(seconds: 1_800_000_000))
    private let client = Client("device-1")!

    /// Ten items a second apart, the clock paused from 4 to 6.
    private var steps: [Step] {
        Recording(
            start: start, end: start + 9, segments: [start...start + 4, start + 6...start + 9], activity: .running,
            environment: nil, samples: samples(10)
        ).steps
    }

    private func playback(_ contents: QueueContents = QueueContents(), speed: Double = 0) -> Playback {
        Playback(
            header: header, contents: contents, steps: steps.makeIterator(),
            pace: Pace(beganAt: now, origin: start, speed: speed), client: client,
            newID: { CommandID(UUID()) })
    }

    private func commands(_ messages: [MQTTMessage]) throws -> [Command] {
        try messages.filter { $0.topic.hasSuffix("/command") }.map {
            try JSONCoding.decode(Command.self, from: $0.payload)
        }
    }

    private func batches(_ messages: [MQTTMessage]) throws -> [SampleBatch] {
        try messages.filter { $0.topic.hasSuffix("/samples/watch-1") }
            .map { try SampleBatch($0.payload, accepting: AcceptedTimes(now: now.wallClock)) }
    }

    private func message(_ topic: SessionTopic, _ payload: [UInt8]) -> MQTTMessage {
        Topic.session(header.key, topic).message(payload)
    }

    private func reply(_ command: Command, _ refusal: Refusal? = nil) -> MQTTMessage {
        Topic.user(header.user, .replies(client))
            .message(JSONCoding.encode(Reply(id: command.id, revision: 1, now: now.wallClock, error: refusal)))
    }

    private func state(_ change: (inout Session) throws -> Void = { _ in }) rethrows -> MQTTMessage {
        var session = Session(
            key: header.key, start: SessionStart(activity: .running, countdown: 0), at: start, now: now.wallClock)
        try change(&session)
        return message(.state, JSONCoding.encode(session.state(revision: 5)))
    }

    private func workout(next: Int) throws -> MQTTMessage {
        let session = Session(
            key: header.key, start: SessionStart(activity: .running, countdown: 0), at: start, now: now.wallClock)
        let report = MetricsReport(
            revision: 1, state: 1, next: [header.stream(.samples): next], chunks: 0, totals: MetricsSummary())
        return message(
            .workout, JSONCoding.encode(WorkoutRecord(session, metrics: report, isComplete: true, revision: 9)))
    }

    /// Carries the playback past the reply to `start`.
    private func started(_ playback: inout Playback) throws {
        playback.connected()
        let start = try #require(try commands(playback.takeOutgoing(now)).first)
        _ = playback.receiveMessage(reply(start), now)
    }

    /// Runs until every command has a reply and every item is acknowledged.
    private func settle(_ playback: inout Playback, _ now: Moment) throws {
        _ = playback.receiveMessage(
            message(.samplesAck(header.device), Ack.next(playback.samples.count).payload(now: now.wallClock)), now)
        while let command = try commands(playback.takeOutgoing(now)).first {
            _ = playback.receiveMessage(reply(command), now)
        }
    }

    @Test func `the queue is in the order of time, and the end carries the counts`() throws {
        var playback = playback()
        let entries = playback.takeDue(now)
        var contents = QueueContents()
        for entry in entries { try contents.add(entry) }
        #expect(contents.samples.items == samples(10))
        #expect(contents.commands.map(\.action.name) == ["start", "pause", "resume", "end"])
        #expect(contents.commands.map(\.at) == [start, start + 4, start + 6, start + 9])
        #expect(contents.commands.last?.action == .end(streams: [header.stream(.samples): 10]))
        #expect(playback.takeDue(now).isEmpty)
    }

    @Test func `items wait for the reply to start`() throws {
        var playback = playback()
        _ = playback.takeDue(now)
        playback.connected()
        let first = playback.takeOutgoing(now)
        #expect(try commands(first).map(\.action.name) == ["start"])
        #expect(try batches(first).isEmpty)
        _ = playback.receiveMessage(reply(try #require(try commands(first).first)), now)
        let second = playback.takeOutgoing(now)
        #expect(try commands(second).map(\.action.name) == ["pause"])
        #expect(try batches(second).map(\.range) == [0..<10])
    }

    @Test func `a lap and a pause in an outage are sent with the times at which they happened`() throws {
        var recording = Recording(
            start: start, end: start + 9, segments: [start...start + 4, start + 6...start + 9], activity: .running,
            samples: samples(10))
        recording.laps = [start + 3]
        var playback = Playback(
            header: header, contents: QueueContents(), steps: recording.steps.makeIterator(),
            pace: Pace(beganAt: now, origin: start, speed: 1), client: client, newID: { CommandID(UUID()) })
        _ = playback.takeDue(now)
        try started(&playback)
        playback.disconnected()
        for second in 1...9 {
            _ = playback.takeDue(now + Double(second))
            #expect(playback.takeOutgoing(now + Double(second)).isEmpty)
        }
        playback.connected()
        var sent: [Command] = []
        while let command = try commands(playback.takeOutgoing(now + 60)).first {
            sent.append(command)
            _ = playback.receiveMessage(reply(command), now + 60)
        }
        #expect(sent.map(\.action.name) == ["lap", "pause", "resume", "end"])
        #expect(sent.map(\.at) == [3, 4, 6, 9].map { start + $0 })
    }

    @Test func `a playback at twice the speed takes the due steps`() throws {
        var playback = playback(speed: 2)
        var contents = QueueContents()
        for entry in playback.takeDue(now + 2) { try contents.add(entry) }
        #expect(contents.samples.items.count == 5)
        for entry in playback.takeDue(now + 2.4) { try contents.add(entry) }
        #expect(contents.samples.items.count == 5)
        for entry in playback.takeDue(now + 10) { try contents.add(entry) }
        #expect(contents.samples.items.count == 10)
    }

    @Test(arguments: 0...14)
    func `resumed after any entry, the queue is the same`(lines: Int) throws {
        var whole = playback(speed: 1)
        var entries: [QueueEntry] = []
        for tick in 0...20 { entries += whole.takeDue(now + Double(tick) / 2) }
        #expect(entries.count == 14)
        var contents = QueueContents()
        for entry in entries.prefix(lines) { try contents.add(entry) }
        let commands = contents.commands
        var second = playback(contents)
        for entry in second.takeDue(now) { try contents.add(entry) }
        #expect(contents.samples.items == samples(10))
        #expect(contents.commands.map(\.action.name) == ["start", "pause", "resume", "end"])
        #expect(contents.commands.prefix(commands.count) == commands[...])
    }

    @Test func `the playback ends when the workout covers every item`() throws {
        var playback = playback()
        _ = playback.takeDue(now)
        try started(&playback)
        try settle(&playback, now)
        #expect(playback.outcome == nil)
        _ = playback.receiveMessage(try workout(next: 9), now)
        #expect(playback.outcome == nil)
        _ = playback.receiveMessage(try workout(next: 10), now)
        guard case .finished? = playback.outcome else {
            Issue.record("\(String(describing: playback.outcome))")
            return
        }
    }

    @Test func `the end is repeated with its id until the workout arrives`() throws {
        var playback = playback()
        let end = playback.takeDue(now).compactMap { entry -> Command? in
            if case .command(let command) = entry { command } else { nil }
        }.last
        try started(&playback)
        try settle(&playback, now)
        _ = playback.takeOutgoing(now)
        #expect(try commands(playback.takeOutgoing(now + 14.9)).isEmpty)
        let repeated = try commands(playback.takeOutgoing(now + 15))
        #expect(repeated.map(\.id) == [try #require(end).id])
        _ = playback.receiveMessage(reply(repeated[0]), now + 15)
        _ = playback.takeOutgoing(now + 15)
        #expect(try commands(playback.takeOutgoing(now + 29.9)).isEmpty)
        #expect(try commands(playback.takeOutgoing(now + 30)).count == 1)
    }

    @Test func `a session that another client ends is ended here with its counts`() throws {
        var playback = playback(speed: 1)
        _ = playback.takeDue(now + 3)
        try started(&playback)
        _ = playback.receiveMessage(try state { try $0.apply(.end(streams: [:]), at: start + 5) }, now)
        let entries = playback.takeDue(now + 4)
        guard case .command(let end)? = entries.first else {
            Issue.record("\(entries)")
            return
        }
        #expect(entries.count == 1)
        #expect(end.action == .end(streams: [header.stream(.samples): 4]))
        #expect(end.at == start + 3)
    }

    @Test func `a pause refused after the session's end is ignored`() throws {
        var playback = playback()
        _ = playback.takeDue(now)
        try started(&playback)
        let pause = try #require(try commands(playback.takeOutgoing(now)).first)
        _ = playback.receiveMessage(try state { try $0.apply(.end(streams: [:]), at: start + 2) }, now)
        #expect(playback.receiveMessage(reply(pause, .invalidState("over")), now) == .note([.replied(pause.id)]))
        #expect(try commands(playback.takeOutgoing(now)).map(\.action.name) == ["resume"])
    }

    @Test func `an end refused after the session's end stops the playback`() throws {
        var playback = playback()
        _ = playback.takeDue(now)
        try started(&playback)
        var command = try #require(try commands(playback.takeOutgoing(now)).first)
        _ = playback.receiveMessage(try state { try $0.apply(.end(streams: [:]), at: start + 2) }, now)
        while command.action.name != "end" {
            _ = playback.receiveMessage(reply(command, .invalidState("over")), now)
            command = try #require(try commands(playback.takeOutgoing(now)).first)
        }
        let refusal = Refusal.invalidCommand("a session has at most 64 streams")
        #expect(playback.receiveMessage(reply(command, refusal), now) == .fail(.refused(command.action, refusal)))
    }

    @Test func `a refused repetition of an accepted end is not noted again`() throws {
        var playback = playback()
        _ = playback.takeDue(now)
        try started(&playback)
        try settle(&playback, now)
        for time in [now + 15, now + 30, now + 45] {
            let end = try #require(try commands(playback.takeOutgoing(time)).first)
            #expect(end.action.name == "end")
            #expect(playback.receiveMessage(reply(end, .invalidState("over")), time) == .nothing)
            #expect(playback.takeOutgoing(time).isEmpty)
        }
    }

    @Test func `a postponed start waits for another session, and for the engine once it is silent`() throws {
        var playback = playback()
        _ = playback.takeDue(now)
        playback.connected()
        let refusal = Refusal.sessionInProgress(SessionID(UUID()))
        for time in [now, now + 5] {
            let start = try #require(try commands(playback.takeOutgoing(time)).first)
            _ = playback.receiveMessage(reply(start, refusal), time)
            #expect(playback.awaited == "another session to end")
        }
        _ = playback.takeOutgoing(now + 10)
        #expect(playback.awaited == "another session to end")
        let start = try #require(try commands(playback.takeOutgoing(now + 15)).first)
        #expect(playback.awaited == "session-engine")
        _ = playback.receiveMessage(reply(start), now + 15)
        #expect(playback.awaited == nil)
    }

    @Test func `any other refusal ends the playback with the engine's message`() throws {
        var playback = playback()
        _ = playback.takeDue(now)
        try started(&playback)
        let pause = try #require(try commands(playback.takeOutgoing(now)).first)
        let reaction = playback.receiveMessage(reply(pause, .invalidState("it is paused")), now)
        guard case .fail(let failure, _) = reaction else {
            Issue.record("\(reaction)")
            return
        }
        #expect("\(failure)" == "pause refused: it is paused")
    }

    @Test func `a discarded session gets its queued items and nothing more`() throws {
        var playback = playback(speed: 1)
        _ = playback.takeDue(now + 3)
        try started(&playback)
        _ = playback.receiveMessage(try state { try $0.apply(.discard, at: start + 5) }, now)
        #expect(playback.takeDue(now + 9).isEmpty)
        #expect(playback.outcome == nil)
        #expect(try batches(playback.takeOutgoing(now)).map(\.range) == [0..<4])
        _ = playback.receiveMessage(message(.samplesAck(header.device), Ack.next(4).payload(now: now.wallClock)), now)
        #expect(playback.outcome == .discarded)
    }

    @Test func `a reused stream ends the playback`() throws {
        var playback = playback()
        let reaction = playback.receiveMessage(
            message(.samplesAck(header.device), Ack.streamReused.payload(now: now.wallClock)), now)
        #expect(reaction == .fail(.stream(.reused)))
    }

    @Test func `too many items end the playback and are noted as far as they are stored`() {
        var playback = playback()
        _ = playback.takeDue(now)
        let ack = Ack.tooManyItems(next: 2, retryAfter: 60)
        let reaction = playback.receiveMessage(
            message(.samplesAck(header.device), ack.payload(now: now.wallClock)), now)
        #expect(
            reaction
                == .fail(.stream(.tooManyItems(next: 2, retryAfter: 60)), noting: [.acknowledged(.samples, 2)]))
    }

    @Test func `a stop before the first item discards the session`() {
        var playback = playback()
        guard case .command(let command)? = playback.stop(now).first else {
            Issue.record("no command")
            return
        }
        #expect(command.action == .discard)
        #expect(playback.takeDue(now).isEmpty)
        #expect(playback.stop(now).isEmpty)
    }

    @Test func `an invalid message is a remark and changes nothing`() {
        var playback = playback()
        guard case .remark = playback.receiveMessage(message(.state, Array("{".utf8)), now) else {
            Issue.record("no remark")
            return
        }
        #expect(playback.receiveMessage(message(.state, []), now) == .nothing)
    }

    @Test func `after the reply to start shows the clock's offset, times are the engine's, also after a crash`()
        throws
    {
        let time = now.wallClock
        let steps = Recording(
            start: time, end: time + 9, segments: [time...time + 4, time + 6...time + 9], activity: .running,
            environment: nil, samples: (0...9).map { Sample(time: time + Double($0)) }
        ).steps
        func playback(_ contents: QueueContents) -> Playback {
            Playback(
                header: header, contents: contents, steps: steps.makeIterator(),
                pace: Pace(beganAt: now, origin: time, speed: 1), client: client, newID: { CommandID(UUID()) })
        }
        var first = playback(QueueContents())
        var contents = QueueContents()
        for entry in first.takeDue(now) { try contents.add(entry) }
        first.connected()
        let sent = try #require(try commands(first.takeOutgoing(now)).first)
        #expect(sent.at == nil)
        var reply = Reply(id: sent.id, revision: 1, now: now.wallClock + 600)
        reply.at = now.wallClock + 600
        let reaction = first.receiveMessage(
            Topic.user(header.user, .replies(client)).message(JSONCoding.encode(reply)), now)
        #expect(reaction == .note([.replied(sent.id), .clock(600)]))
        guard case .note(let entries) = reaction else { return }
        for entry in entries { try contents.add(entry) }
        for entry in first.takeDue(now + 2) { try contents.add(entry) }
        var second = playback(contents)
        for entry in second.takeDue(now + 9) { try contents.add(entry) }
        #expect(contents.samples.items.map(\.time) == [time] + (1...9).map { time + 600 + Double($0) })
        #expect(contents.commands.map(\.at) == [time] + [4, 6, 9].map { time + 600 + $0 })
    }

    @Test(arguments: [true, false])
    func `acknowledgements show a clock that is off, and live items then carry the services' time`(isLive: Bool) throws
    {
        let time = now.wallClock
        let steps = Recording(
            start: time, end: time + 30, segments: [time...time + 30], activity: .running, environment: nil,
            samples: (0...30).map { Sample(time: time + Double($0)) }
        ).steps
        var contents = QueueContents()
        let source = isLive ? self.header.source : .recording(fingerprint: "0")
        let header = QueueHeader(
            user: header.user, session: header.session, device: header.device, beganAt: time, source: source,
            joins: false, notSynced: nil)
        func playback(_ contents: QueueContents) -> Playback {
            Playback(
                header: header, contents: contents, steps: steps.makeIterator(),
                pace: Pace(beganAt: now, origin: time, speed: 1), client: client, newID: { CommandID(UUID()) })
        }
        var first = playback(contents)
        func acknowledge(_ second: Double, ahead: Double) throws {
            for entry in first.takeDue(now + second) { try contents.add(entry) }
            let ack = Ack.next(0).payload(now: time + second + ahead)
            _ = first.receiveMessage(message(.samplesAck(header.device), ack), now + second)
        }
        // Late ones and a few seconds say nothing.
        for second in 0..<5 { try acknowledge(Double(second), ahead: 2.9 - Double(second % 3)) }
        try acknowledge(5, ahead: 180)
        for second in 6..<9 { try acknowledge(Double(second), ahead: 180 - Double(second - 6)) }
        for second in 9..<20 { try acknowledge(Double(second), ahead: 180) }
        var second = playback(contents)
        for entry in second.takeDue(now + 30) { try contents.add(entry) }
        let shifts = contents.samples.items.enumerated().map { $1.time!.seconds(since: time) - Double($0) }
        #expect(Set(shifts) == (isLive ? [0, 180] : [0]))
        #expect(shifts == shifts.sorted() && shifts[5] == 0)
        #expect(contents.startOffset == 0 && contents.clockOffset == (isLive ? 180 : 0))
    }
}
