import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client
@testable import Formats

/// A playback with samples and locations: both are queued, sent, announced, covered, and sent again after a loss.
@Suite struct PlaybackStreamsTests {
    private let start = Timestamp(seconds: 1_700_000_000)
    private let now = Moment(Timestamp(seconds: 1_800_000_000))
    private let client = Client("device-1")!
    private let header = QueueHeader(
        user: User("ann")!, session: SessionID(UUID()), device: Device("watch-1")!,
        beganAt: Timestamp(seconds: 1_800_000_000), source: .recording(fingerprint: "1"))

    /// Ten samples a second apart, all but the first two with a location; the clock paused from 4 to 6.
    private var recording: Recording {
        Recording(
            start: start, end: start + 9, segments: [start...start + 4, start + 6...start + 9], activity: .running,
            environment: nil, samples: samples(10), locations: locations)
    }

    private var locations: [Location] {
        (2..<10).map { Location(time: start + Double($0), latitude: 47 + Double($0) / 1_000, longitude: 9) }
    }

    private func playback(_ contents: QueueContents = QueueContents(), speed: Double = 0) -> Playback {
        Playback(
            header: header, contents: contents, steps: recording.steps.makeIterator(),
            pace: Pace(beganAt: now, origin: start, speed: speed), client: client, newID: { CommandID(UUID()) })
    }

    private func contents(_ entries: some Sequence<QueueEntry>) throws -> QueueContents {
        var contents = QueueContents()
        for entry in entries { try contents.add(entry) }
        return contents
    }

    private func message(_ topic: SessionTopic, _ payload: [UInt8]) -> MQTTMessage {
        Topic.session(header.key, topic).message(payload)
    }

    private func acknowledge(
        _ playback: inout Playback, _ kind: StreamName.Kind, _ number: Int, _ now: Moment
    ) -> Playback.Reaction {
        playback.receiveMessage(message(kind.ack(header.device), Ack.next(number).payload(now: now.wallClock)), now)
    }

    private func commands(_ messages: [MQTTMessage]) throws -> [Command] {
        try messages.filter { $0.topic.hasSuffix("/command") }
            .map { try JSONCoding.decode(Command.self, from: $0.payload) }
    }

    private func topics(_ messages: [MQTTMessage]) -> [SessionTopic] {
        messages.compactMap { message in
            if case .session(_, let topic) = Topic(message.topic), topic != .command { topic } else { nil }
        }
    }

    /// Replies to all waiting commands and returns the messages sent meanwhile.
    private func reply(_ playback: inout Playback, _ now: Moment) throws -> [MQTTMessage] {
        var sent: [MQTTMessage] = []
        while true {
            let messages = playback.takeOutgoing(now)
            sent += messages
            guard let command = try commands(messages).first else { return sent }
            let reply = Reply(id: command.id, revision: 1, now: now.wallClock)
            _ = playback.receiveMessage(
                Topic.user(header.user, .replies(client)).message(JSONCoding.encode(reply)), now)
        }
    }

    private func workout(
        samples: Int, locations: Int?, isComplete: Bool = true, revision: Int64 = 9
    ) -> MQTTMessage {
        let session = Session(
            key: header.key, start: SessionStart(activity: .running, countdown: 0), at: start, now: now.wallClock)
        var next = [header.stream(.samples): samples]
        if let locations { next[header.stream(.locations)] = locations }
        let report = MetricsReport(revision: 1, state: 1, next: next, chunks: 0, totals: MetricsSummary())
        return message(
            .workout,
            JSONCoding.encode(WorkoutRecord(session, metrics: report, isComplete: isComplete, revision: revision)))
    }

    @Test func `both streams are queued and sent, and the end announces both`() throws {
        var playback = playback()
        let queued = try contents(playback.takeDue(now))
        #expect(queued.samples.items == samples(10))
        #expect(queued.locations.items == locations)
        #expect(
            queued.commands.last?.action
                == .end(streams: [header.stream(.samples): 10, header.stream(.locations): 8]))
        playback.connected()
        let sent = try reply(&playback, now)
        #expect(topics(sent) == [.samples(header.device), .locations(header.device)])
        let batch = try #require(sent.last { Topic($0.topic) == Topic.session(header.key, .locations(header.device)) })
        #expect(try LocationBatch(batch.payload, accepting: AcceptedTimes(now: now.wallClock)).items == locations)
    }

    @Test func `the playback ends when the workout covers both streams`() throws {
        var playback = playback()
        _ = playback.takeDue(now)
        playback.connected()
        _ = try reply(&playback, now)
        #expect(acknowledge(&playback, .samples, 10, now) == .note([.acknowledged(.samples, 10)]))
        #expect(acknowledge(&playback, .locations, 8, now) == .note([.acknowledged(.locations, 8)]))
        for (samples, locations) in [(10, nil), (10, 7), (9, 8)] as [(Int, Int?)] {
            _ = playback.receiveMessage(workout(samples: samples, locations: locations), now)
            #expect(playback.outcome == nil)
        }
        _ = playback.receiveMessage(workout(samples: 10, locations: 8), now)
        #expect(playback.outcome != nil)
    }

    @Test func `unacknowledged locations do not delay the end of the session`() throws {
        var long = Recording(
            start: start, end: start + 9_999, segments: [start...start + 9_999], activity: .running,
            environment: nil, samples: samples(10_000))
        long.locations = long.samples.map { Location(time: $0.time, latitude: 47, longitude: 9) }
        var playback = Playback(
            header: header, contents: QueueContents(), steps: long.steps.makeIterator(),
            pace: Pace(beganAt: now, origin: start, speed: 0), client: client, newID: { CommandID(UUID()) })
        playback.connected()
        while playback.closing == nil, !playback.takeDue(now).isEmpty {
            _ = try reply(&playback, now)
            _ = acknowledge(&playback, .samples, playback.samples.count, now)
        }
        #expect(playback.closing?.action.name == "end")
        #expect(playback.locations.count == 10_000)
    }

    @Test(arguments: 0...22)
    func `resumed after any line of the queue, no item is missing or doubled`(lines: Int) throws {
        var whole = playback(speed: 1)
        let entries = (0...20).flatMap { whole.takeDue(now + Double($0) / 2) }
        #expect(entries.count == 22)
        var queued = try contents(entries.prefix(lines))
        var second = playback(queued)
        for entry in second.takeDue(now) { try queued.add(entry) }
        #expect(queued.samples.items == samples(10))
        #expect(queued.locations.items == locations)
        #expect(queued.commands.map(\.action.name) == ["start", "pause", "resume", "end"])
    }

    @Test func `items that a restored server lost are sent again with the commands`() throws {
        var playback = playback()
        let queued = try contents(playback.takeDue(now))
        playback.connected()
        _ = try reply(&playback, now)
        _ = acknowledge(&playback, .samples, 10, now)
        _ = acknowledge(&playback, .locations, 6, now)
        _ = playback.takeOutgoing(now + 5)
        #expect(acknowledge(&playback, .locations, 3, now + 5) == .takeBack(.locations, from: 3))
        #expect(playback.takeBack(.locations, from: 3, queued) == [.acknowledged(.locations, 3)])

        let sent = playback.takeOutgoing(now + 5)
        #expect(topics(sent) == [.locations(header.device)])
        let batch = try LocationBatch(try #require(sent.last).payload, accepting: AcceptedTimes(now: now.wallClock))
        #expect(batch.first == 3)
        #expect(batch.items == Array(locations[3...]))

        // The engine lost the pause as well and refuses it now; the playback ignores the refusal.
        var names: [String] = []
        var command = try commands(sent).first
        while let repeated = command {
            names.append(repeated.action.name)
            let reply = Reply(id: repeated.id, revision: 1, now: now.wallClock, error: .invalidState("it is over"))
            let reaction = playback.receiveMessage(
                Topic.user(header.user, .replies(client)).message(JSONCoding.encode(reply)), now + 5)
            // Already in the queue.
            #expect(reaction == .nothing)
            command = try commands(playback.takeOutgoing(now + 5)).first
        }
        #expect(names == ["start", "pause", "resume", "end"])
    }

    /// A playback whose items are all acknowledged and whose `end` was repeated.
    private func awaitingWorkout() throws -> (playback: Playback, queued: QueueContents) {
        var playback = playback()
        let queued = try contents(playback.takeDue(now))
        playback.connected()
        _ = try reply(&playback, now)
        _ = acknowledge(&playback, .samples, 10, now)
        _ = acknowledge(&playback, .locations, 8, now)
        _ = try reply(&playback, now)
        // The workout may be older than the last items.
        #expect(playback.receiveMessage(workout(samples: 4, locations: 8, isComplete: false), now) == .nothing)
        #expect(try commands(reply(&playback, now + 15)).map(\.action.name) == ["end"])
        return (playback, queued)
    }

    @Test(arguments: [true, false])
    func `a workout with fewer items than acknowledged sends the newest item again`(isComplete: Bool) throws {
        var (playback, _) = try awaitingWorkout()
        for time in [now + 16, now + 17] {
            let workout = workout(samples: 0, locations: nil, isComplete: isComplete)
            #expect(playback.receiveMessage(workout, time) == .nothing)
            let sent = try reply(&playback, time)
            #expect(topics(sent) == [.samples(header.device), .locations(header.device)])
            let accepting = AcceptedTimes(now: now.wallClock)
            let batch = try SampleBatch(try #require(sent.first).payload, accepting: accepting)
            #expect(batch == SampleBatch(first: 9, items: [samples(10)[9]], asksAck: true))
            let positions = try LocationBatch(try #require(sent.last).payload, accepting: accepting)
            #expect(positions == LocationBatch(first: 7, items: [locations[7]], asksAck: true))
            // The receivers have all items: the totals are late.
            #expect(acknowledge(&playback, .samples, 10, time) == .nothing)
            #expect(acknowledge(&playback, .locations, 8, time) == .nothing)
            #expect(try reply(&playback, time).isEmpty)
        }
        _ = playback.receiveMessage(workout(samples: 10, locations: 8, revision: 10), now + 18)
        #expect(playback.outcome != nil)
    }

    @Test func `a lower reply to the newest item shows a loss`() throws {
        var (playback, queued) = try awaitingWorkout()
        #expect(playback.receiveMessage(workout(samples: 10, locations: nil), now + 16) == .nothing)
        #expect(topics(try reply(&playback, now + 16)) == [.locations(header.device)])
        #expect(acknowledge(&playback, .locations, 0, now + 16) == .takeBack(.locations, from: 0))
        _ = playback.takeBack(.locations, from: 0, queued)
        let sent = try reply(&playback, now + 16)
        #expect(topics(sent) == [.locations(header.device)])
        #expect(try commands(sent).map(\.action.name) == ["start", "pause", "resume", "end"])
        #expect(acknowledge(&playback, .locations, 8, now + 17) == .note([.acknowledged(.locations, 8)]))
    }
}
