import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client
@testable import Formats

/// A playback whose session the server has lost.
@Suite struct NotSyncedTests {
    private let start = Timestamp(seconds: 1_700_000_000)
    private let now = Moment(Timestamp(seconds: 1_800_000_000))
    private let client = Client("device-1")!
    private let header = QueueHeader(
        user: User("ann")!, session: SessionID("0b7e1a5c-2222-4333-8444-123456789abc")!, device: Device("watch-1")!,
        beganAt: Timestamp(seconds: 1_800_000_000), source: .recording(fingerprint: "1"))

    /// Ten samples a second apart, the clock paused from 4 to 6.
    private var steps: [Step] {
        Recording(
            start: start, end: start + 9, segments: [start...start + 4, start + 6...start + 9], activity: .running,
            environment: nil, samples: samples(10)
        ).steps
    }

    private func playback(
        _ header: QueueHeader? = nil, _ contents: QueueContents = QueueContents(), speed: Double = 0
    ) -> Playback {
        Playback(
            header: header ?? self.header, contents: contents, steps: steps.makeIterator(),
            pace: Pace(beganAt: now, origin: start, speed: speed), client: client, newID: { CommandID(UUID()) })
    }

    private func contents(_ entries: some Sequence<QueueEntry>) throws -> QueueContents {
        var contents = QueueContents()
        for entry in entries { try contents.add(entry) }
        return contents
    }

    private func command(_ messages: [MQTTMessage]) throws -> Command? {
        try messages.first { $0.topic.hasSuffix("/command") }.map {
            try JSONCoding.decode(Command.self, from: $0.payload)
        }
    }

    private func reply(_ command: Command, revision: Int64?, _ refusal: Refusal? = nil) -> MQTTMessage {
        Topic.user(header.user, .replies(client))
            .message(JSONCoding.encode(Reply(id: command.id, revision: revision, now: now.wallClock, error: refusal)))
    }

    private func deleted(after reason: Session.CancelReason?) throws -> MQTTMessage {
        var session = Session(
            key: header.key, start: SessionStart(activity: .running, countdown: 0), at: start, now: now.wallClock)
        switch reason {
        case .expired: session.expire()
        case .discarded: try session.apply(.discard, at: start + 5)
        case nil: break
        }
        session.delete(givenUp: reason)
        return Topic.session(header.key, .state).message(JSONCoding.encode(session.state(revision: 7)))
    }

    /// A playback that waits for the reply to its end alone.
    private func ending() throws -> (playback: Playback, end: Command) {
        var playback = playback()
        _ = playback.takeDue(now)
        playback.connected()
        while let command = try command(playback.takeOutgoing(now)) {
            if case .end = command.action {
                let ack = Topic.session(header.key, .samplesAck(header.device)).message(
                    Ack.next(10).payload(now: now.wallClock))
                _ = playback.receiveMessage(ack, now)
                return (playback, command)
            }
            _ = playback.receiveMessage(reply(command, revision: 1), now)
        }
        throw CancellationError()
    }

    // MARK: Replies of the engine

    @Test func `a session counts as lost when the engine misses it twice`() throws {
        var (playback, end) = try ending()
        let refused = reply(end, revision: nil, .sessionNotFound)
        #expect(playback.receiveMessage(refused, now) == .remark("session not found, retrying"))
        #expect(playback.outcome == nil)
        #expect(try command(playback.takeOutgoing(now + 4.9)) == nil)
        #expect(try command(playback.takeOutgoing(now + 5)) == end)
        #expect(playback.receiveMessage(refused, now + 5) == .nothing)
        #expect(playback.outcome == .notSynced)
    }

    @Test func `an engine that finds the session on the second try has not lost it`() throws {
        var playback = playback()
        _ = playback.takeDue(now)
        playback.connected()
        let start = try #require(try command(playback.takeOutgoing(now)))
        _ = playback.receiveMessage(reply(start, revision: 1), now)
        for round in 0..<3 {
            let time = now + Double(5 * round)
            let command = try #require(try command(playback.takeOutgoing(time)))
            _ = playback.receiveMessage(reply(command, revision: nil, .sessionNotFound), time)
            #expect(try self.command(playback.takeOutgoing(time + 5)) == command)
            _ = playback.receiveMessage(reply(command, revision: 1), time + 5)
            #expect(playback.outcome == nil)
        }
    }

    @Test(
        arguments: [
            (.expired, .notSynced), (.discarded, .deleted), (nil, .deleted),
        ] as [(Session.CancelReason?, Playback.Outcome)])
    func `the state of a deleted session shows whether it expired`(
        reason: Session.CancelReason?, outcome: Playback.Outcome
    ) throws {
        var (playback, end) = try ending()
        for round in 0..<4 {
            _ = playback.receiveMessage(reply(end, revision: 7, .sessionNotFound), now + Double(5 * round))
            #expect(playback.outcome == nil)
            #expect(try command(playback.takeOutgoing(now + Double(5 * round + 5))) == end)
        }
        _ = playback.receiveMessage(try deleted(after: reason), now + 21)
        #expect(playback.outcome == outcome)
    }

    @Test func `an expired state is enough, with or without acknowledgements`() throws {
        var playback = playback(speed: 1)
        _ = playback.takeDue(now + 3)
        playback.connected()
        let start = try #require(try command(playback.takeOutgoing(now)))
        _ = playback.receiveMessage(reply(start, revision: 1), now)
        _ = playback.receiveMessage(try deleted(after: .expired), now + 3)
        #expect(playback.outcome == .notSynced)
    }

    @Test func `a session that the user deleted is not logged again, even if the engine lost it afterwards`() throws {
        var (playback, end) = try ending()
        _ = playback.receiveMessage(try deleted(after: nil), now)
        _ = playback.receiveMessage(reply(end, revision: nil, .sessionNotFound), now)
        _ = playback.receiveMessage(reply(end, revision: nil, .sessionNotFound), now + 5)
        #expect(playback.outcome == .deleted)
    }

    @Test func `a lost session needs no discard`() throws {
        var playback = playback(speed: 1)
        _ = playback.takeDue(now - 1)
        _ = playback.stop(now)
        playback.connected()
        for round in 0..<2 {
            let time = now + Double(5 * round)
            let discard = try #require(try command(playback.takeOutgoing(time)))
            #expect(discard.action == .discard)
            _ = playback.receiveMessage(reply(discard, revision: nil, .sessionNotFound), time)
        }
        #expect(playback.outcome == .discarded)
    }

    // MARK: Repeated commands

    /// The first four of ten samples and an accepted start.
    private func begun() throws -> (playback: Playback, start: Command) {
        var playback = playback(speed: 1)
        _ = playback.takeDue(now + 3)
        playback.connected()
        let start = try #require(try command(playback.takeOutgoing(now)))
        #expect(playback.receiveMessage(reply(start, revision: 1), now) == .note([.replied(start.id)]))
        return (playback, start)
    }

    @Test func `without acknowledgements the newest command is repeated and not noted again`() throws {
        var (playback, start) = try begun()
        for round in 1...2 {
            let asked = try (0..<20).compactMap { try command(playback.takeOutgoing(now + Double(20 * round + $0))) }
            #expect(asked == [start])
            #expect(playback.awaited == "metrics-aggregator")
            #expect(playback.receiveMessage(reply(start, revision: 1), now + Double(20 * round + 19)) == .nothing)
        }
        let ack = Topic.session(header.key, .samplesAck(header.device)).message(Ack.next(4).payload(now: now.wallClock))
        _ = playback.receiveMessage(ack, now + 60)
        #expect(playback.awaited == nil)
        for second in 60..<100 { #expect(playback.takeOutgoing(now + Double(second)).isEmpty) }
    }

    @Test func `with acknowledgements no command is repeated`() throws {
        var playback = try begun().playback
        for second in 0..<40 {
            let time = now + Double(second)
            let ack = Topic.session(header.key, .samplesAck(header.device)).message(
                Ack.next(second / 10).payload(now: now.wallClock))
            if second % 10 == 0 { _ = playback.receiveMessage(ack, time) }
            #expect(try command(playback.takeOutgoing(time)) == nil)
        }
    }

    // MARK: The successor's queue

    @Test func `everything is queued again with its time, and the start names the replaced session`() throws {
        var first = playback()
        let queued = try contents(first.takeDue(now) + [.acknowledged(.samples, 10)])
        let again = try contents(queued.entries(replacing: header))
        #expect(again.samples.items == queued.samples.items)
        #expect(again.samples.acknowledged == 0)
        #expect(again.replied.isEmpty)
        #expect(again.commands.map(\.at) == [start, start + 4, start + 6, start + 9])
        #expect(again.commands.dropFirst().map(\.action) == queued.commands.dropFirst().map(\.action))
        #expect(Set((again.commands + queued.commands).map(\.id)).count == 8)
        guard case .start(let session)? = again.commands.first?.action else {
            Issue.record("no start")
            return
        }
        #expect(session.notSynced == header.session)
        #expect(session.endAt == start + 9)
        // A crash between two attempts changes nothing.
        #expect(try contents(queued.entries(replacing: header)) == again)

        let header = header.successor
        #expect(header.notSynced == self.header.session)
        #expect(header.session == self.header.session.successor)
        var second = playback(header, again)
        #expect(second.takeDue(now + 1).isEmpty)
        second.connected()
        let command = try #require(try command(second.takeOutgoing(now + 1)))
        #expect(command.at == start)
        #expect(second.topic(.command).name.contains("\(header.session)"))
    }

    @Test func `the successor's start keeps its fields and replaces no session`() throws {
        var asked = SessionStart(activity: .rowing, environment: .indoor, name: "Erg", countdown: 5, units: .imperial)
        asked.replace = true
        asked.permissions = Permissions(heartRate: true, workouts: false)
        asked.definition = WorkoutDefinition(name: "Intervals", sections: [])
        asked.endAt = start + 100
        let command = Command(id: CommandID(UUID()), client: client, at: start, action: .start(asked))
        let end = Command(id: CommandID(UUID()), client: client, at: start + 99, action: .end(streams: [:]))
        let again = try contents(
            contents([.command(command), .command(end)]).entries(replacing: header))
        var expected = asked
        expected.replace = false
        expected.notSynced = header.session
        #expect(again.commands.first?.action == .start(expected))
    }

    @Test func `an unfinished playback continues in the successor`() throws {
        var first = playback(speed: 1)
        let queued = try contents(first.takeDue(now + 5))
        let again = try contents(queued.entries(replacing: header))
        guard case .start(let session)? = again.commands.first?.action else {
            Issue.record("no start")
            return
        }
        #expect(session.endAt == nil)
        var second = playback(header.successor, again, speed: 1)
        var whole = again
        for entry in second.takeDue(now + 20) { try whole.add(entry) }
        #expect(whole.samples.items == samples(10))
        #expect(whole.commands.map(\.action.name) == ["start", "pause", "resume", "end"])
    }

    @Test func `items of a wrong clock keep the engine's times`() throws {
        let begin = Command(
            id: CommandID(UUID()), client: client, at: start,
            action: .start(SessionStart(activity: .running, countdown: 0)))
        let queued = try contents([
            .command(begin), .replied(begin.id), .clock(600),
            .samples(SampleBatch(first: 0, items: samples(2, from: 1_700_000_601))),
        ])
        let header = QueueHeader(
            user: header.user, session: header.session, device: header.device, beganAt: start,
            source: .simulation(seed: 1))
        let again = try contents(queued.entries(replacing: header))
        #expect(again.commands.first?.at == start + 600)
        #expect(again.samples.items == queued.samples.items)
        #expect(again.clockOffset == 600)
        // The successor's start carries its time even if it was queued just now.
        var second = playback(header.successor, again)
        second.connected()
        #expect(try command(second.takeOutgoing(Moment(start + 600)))?.at == start + 600)
    }

    @Test func `a joined device joins the successor and begins none`() throws {
        let header = QueueHeader(
            user: header.user, session: header.session, device: Device("strap-1")!, beganAt: now.wallClock,
            source: header.source, joins: true)
        let end = Command(id: CommandID(UUID()), client: client, at: start + 9, action: .end(streams: [:]))
        let queued = try contents([.samples(SampleBatch(first: 0, items: samples(10))), .command(end)])
        let again = try contents(queued.entries(replacing: header))
        #expect(again.commands.isEmpty)
        #expect(again.samples.items == samples(10))
        #expect(header.successor.joins)
        #expect(header.successor.session == self.header.successor.session)
    }

    @Test func `items of several lines are numbered from 0`() throws {
        let many = samples(2_500)
        let locations = many.prefix(1_001).map { Location(time: $0.time ?? start) }
        let queued = try contents([
            .samples(SampleBatch(first: 0, items: many)), .locations(LocationBatch(first: 0, items: locations)),
        ])
        let entries = queued.entries(replacing: header)
        #expect(entries.count == 5)
        let again = try contents(entries)
        #expect(again.samples.items == many)
        #expect(again.locations.items == locations)
    }
}
