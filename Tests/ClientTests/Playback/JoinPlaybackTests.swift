import Bus
import Formats
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client

/// A device that joins the session of another device.
@Suite struct JoinPlaybackTests {
    private let start = Timestamp(seconds: 1_700_000_000)
    private let now = Moment(Timestamp(seconds: 1_800_000_000))
    private let client = Client("device-1")!
    private let key = SessionKey(User("ann")!, SessionID(UUID()))
    private let device = Device("strap-77aa")!

    private func playback(
        _ source: QueueHeader.Source = .recording(fingerprint: "1"), _ contents: QueueContents = QueueContents(),
        speed: Double = 0
    ) -> Playback {
        let header = QueueHeader(
            user: key.user, session: key.session, device: device, beganAt: now.wallClock, source: source, joins: true)
        let samples = (0..<10).map { Sample(time: start + Double($0)) }
        let steps = samples.compactMap { sample in sample.time.map { Step(at: $0, .sample(sample)) } }
        return Playback(
            header: header, contents: contents, steps: steps.makeIterator(),
            pace: Pace(beganAt: now, origin: start, speed: speed), client: client, newID: { CommandID(UUID()) })
    }

    private func state(ended: Bool = false, discarded: Bool = false) throws -> MQTTMessage {
        var session = Session(
            key: key, start: SessionStart(activity: .running, countdown: 0), at: start, now: now.wallClock)
        if ended { try session.apply(.end(streams: [:]), at: start + 5) }
        if discarded { try session.apply(.discard, at: start + 5) }
        return Topic.session(key, .state)
            .message(JSONCoding.encode(session.state(revision: ended || discarded ? 6 : 5)))
    }

    private func acknowledge(_ playback: inout Playback, _ number: Int) {
        _ = playback.receiveMessage(
            Topic.session(key, .samplesAck(device)).message(Ack.next(number).payload(now: now.wallClock)), now)
    }

    private func actions(_ entries: [QueueEntry]) -> [SessionAction] {
        entries.compactMap { entry in
            if case .command(let command) = entry { command.action } else { nil }
        }
    }

    @Test func `a joined device sends nothing before the session begins, then items and no commands`() throws {
        var playback = playback()
        #expect(actions(playback.takeDue(now)).isEmpty)
        playback.connected()
        #expect(playback.takeOutgoing(now).isEmpty)
        _ = playback.receiveMessage(try state(), now)
        let topics = playback.takeOutgoing(now).map(\.topic)
        #expect(topics == [Topic.session(key, .samples(device)).name])
    }

    @Test func `a joined recording waits at its end for the session's end`() throws {
        var playback = playback()
        playback.connected()
        _ = playback.takeDue(now)
        _ = playback.receiveMessage(try state(), now)
        _ = playback.takeOutgoing(now)
        acknowledge(&playback, 10)
        #expect(actions(playback.takeDue(now + 60)).isEmpty)
        #expect(playback.outcome == nil)
        _ = playback.receiveMessage(try state(ended: true), now)
        #expect(actions(playback.takeDue(now + 61)) == [.end(streams: [StreamName(.samples, device): 10])])
    }

    @Test func `a joined recording continues after the session ends`() throws {
        var playback = playback(speed: 1)
        playback.connected()
        _ = playback.receiveMessage(try state(ended: true), now)
        #expect(actions(playback.takeDue(now + 4)).isEmpty)
        #expect(actions(playback.takeDue(now + 9)).isEmpty)
        #expect(playback.samples.count == 10)
        #expect(actions(playback.takeDue(now + 9)) == [.end(streams: [StreamName(.samples, device): 10])])
    }

    @Test func `a joined simulated run stops when the session ends`() throws {
        var playback = playback(.simulation(seed: 1), speed: 1)
        playback.connected()
        _ = playback.takeDue(now + 4)
        _ = playback.receiveMessage(try state(ended: true), now)
        #expect(actions(playback.takeDue(now + 5)) == [.end(streams: [StreamName(.samples, device): 5])])
    }

    @Test func `a joined device without items discards nothing`() throws {
        var playback = playback(.simulation(seed: 1), speed: 1)
        _ = playback.receiveMessage(try state(ended: true), now)
        #expect(actions(playback.takeDue(now - 1)) == [.end(streams: [StreamName(.samples, device): 0])])
    }

    @Test func `a joined playback ends when the workout covers its items`() throws {
        var playback = playback()
        playback.connected()
        _ = playback.receiveMessage(try state(ended: true), now)
        _ = playback.takeDue(now)
        guard case .command(let end)? = playback.takeDue(now).first else {
            Issue.record("no end")
            return
        }
        _ = playback.takeOutgoing(now)
        acknowledge(&playback, 10)
        _ = playback.receiveMessage(
            Topic.user(key.user, .replies(client)).message(
                JSONCoding.encode(Reply(id: end.id, revision: 7, now: now.wallClock))), now)
        let session = Session(
            key: key, start: SessionStart(activity: .running, countdown: 0), at: start, now: now.wallClock)
        for (next, isOver) in [(9, false), (10, true)] {
            let report = MetricsReport(
                revision: 1, state: 1, next: [StreamName(.samples, device): next], chunks: 0,
                totals: MetricsSummary())
            let record = WorkoutRecord(session, metrics: report, isComplete: true, revision: 9)
            _ = playback.receiveMessage(Topic.session(key, .workout).message(JSONCoding.encode(record)), now)
            #expect((playback.outcome != nil) == isOver)
        }
    }

    @Test func `a discarded session still gets queued items`() throws {
        var playback = playback(speed: 1)
        playback.connected()
        _ = playback.takeDue(now + 3)
        _ = playback.receiveMessage(try state(discarded: true), now)
        #expect(playback.takeDue(now + 9).isEmpty)
        acknowledge(&playback, 4)
        #expect(playback.outcome == .discarded)
    }

    @Test func `a resumed queue still joins, with or without the flag`() throws {
        let folder = QueueFolder(path: FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path)
        defer { try? FileManager.default.removeItem(atPath: folder.path) }
        let script = PlaybackScript.simulation(seed: 1, duration: 5)
        do {
            let queue = try script.openQueue(in: folder, key, device, now: now.wallClock, joins: true)
            #expect(queue.header.joins)
        }
        let queue = try script.openQueue(in: folder, key, device, now: now.wallClock, joins: false)
        #expect(queue.header.joins)
        var steps = script.steps(queue.header)
        var count = 0
        while let step = steps.next() {
            if case .command = step.kind { Issue.record("a command: \(step)") }
            count += 1
        }
        #expect(count == 12)
    }
}
