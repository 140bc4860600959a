import Bus
import Formats
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client

/// A device that plays its part of a virtual run.
@Suite struct RunPlaybackTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()
    private let key = SessionKey(User("ann")!, SessionID(UUID()))
    private let device = Device("watch-3f9a")!
    private let run = RunID(UUID())
    private let client = Client("device-1")!

    init() throws {
        folder = try TemporaryFolder()
    }

    private func view(_ change: (inout VirtualRunView) -> Void = { _ in }) -> VirtualRunView {
        var own = VirtualRunView.Participant(user: key.user, status: .confirmed, at: clock.now, sharing: .all)
        own.session = key.session
        own.startId = CommandID(UUID())
        own.startsAt = clock.now + 4
        let partner = VirtualRunView.Participant(user: User("ben")!, status: .confirmed, at: clock.now, sharing: .all)
        var view = VirtualRunView(
            run: run, user: key.user, revision: 5, status: .starting, host: key.user, settings: RunSettings(),
            createdAt: clock.now, participants: [own, partner])
        view.startsAt = clock.now + 4
        change(&view)
        return view
    }

    private func ticket(_ goal: RunGoal? = nil, _ kind: RunClock = .active) throws -> RunTicket {
        try #require(
            RunTicket(
                view {
                    $0.settings.goal = goal
                    $0.settings.clock = kind
                }, now: clock.now, offset: 0))
    }

    private func playback(_ ticket: RunTicket, rate: Double = 1, _ contents: QueueContents = QueueContents())
        -> Playback
    {
        let header = QueueHeader(
            user: key.user, session: key.session, device: device, beganAt: clock.now,
            source: .simulation(seed: 7, rate: rate), ticket: ticket)
        let script = PlaybackScript.simulation(seed: 7, duration: nil, rate: rate)
        return Playback(
            header: header, contents: contents, steps: script.steps(header),
            pace: script.pace(header, speed: 1, now: clock.moment), client: client, newID: { CommandID(UUID()) })
    }

    private func service(_ ticket: RunTicket?, _ bus: FakeBus, speed: Double = 1) -> PlaybackService {
        PlaybackService(
            context: ServiceContext(
                configuration: ServiceConfiguration(name: "device"), logger: .silent, bus: bus, clock: clock),
            terminal: TerminalRecorder().terminal, folder: QueueFolder(path: folder.file("queues")), key: key,
            device: device, scripts: [.simulation(seed: 7, duration: nil)], speed: speed, ticket: ticket)
    }

    /// Moves the clock, takes due steps, and returns the messages of items with the seconds at which they were sent.
    private func play(
        _ playback: inout Playback, seconds: Double, _ services: FakeServices
    ) throws -> [(at: Double, samples: [Sample])] {
        var sent: [(at: Double, samples: [Sample])] = []
        let began = clock.now
        for _ in 0..<Int(seconds * 20) {
            clock.advance(by: .milliseconds(50))
            _ = playback.takeDue(clock.moment)
            for message in playback.takeOutgoing(clock.moment) {
                if case .session(_, .samples) = Topic(message.topic) {
                    let batch = try SampleBatch(message.payload, accepting: AcceptedTimes(now: clock.now))
                    sent.append((clock.now.seconds(since: began), batch.items))
                }
                for answer in services.answer(message) { _ = playback.receiveMessage(answer, clock.moment) }
            }
        }
        return sent
    }

    @Test(arguments: [-2.5, 0, 600])
    func `the start carries the run, its time and the id of the view, and items begin then`(ahead: Double) throws {
        let services = FakeServices(key: key, device: device, clock: clock, faults: .init(clockAhead: ahead))
        var ticket = try ticket()
        // The view is written by the services' clock.
        ticket.startAt = ticket.startAt + ahead
        ticket.offset = ahead
        var playback = playback(ticket)
        playback.connected()
        _ = try play(&playback, seconds: 10, services)
        let command = try #require(services.commands.first)
        guard case .start(let start) = command.action else { throw Unexpected() }
        #expect(command.id == ticket.startId)
        #expect(start.run == run && !start.replace)
        #expect(services.commands.map(\.action.name) == ["start"])
        #expect(services.samples.first?.time == ticket.startAt)
        #expect(start.startAt == ticket.startAt)
    }

    @Test func `a run told twice starts once and does not block the next`() throws {
        let services = FakeServices(key: key, device: device, clock: clock, faults: .init(loseReply: 1))
        let ticket = try ticket()
        // Two devices of one user receive the view, and the engine's first reply is lost.
        var watch = playback(ticket)
        var phone = playback(ticket)
        for _ in 0..<2 {
            watch.connected()
            phone.connected()
            _ = try play(&watch, seconds: 6, services)
            _ = try play(&phone, seconds: 6, services)
        }
        #expect(services.commands.count > 2)
        #expect(Set(services.commands.map(\.id)) == [ticket.startId])
        #expect(services.session != nil)
        // The next run has another session and id.
        let next = try #require(RunTicket(view { $0.run = RunID(UUID()) }, now: clock.now, offset: 0))
        #expect(next.startId != ticket.startId && next.run != ticket.run)
        let folder = QueueFolder(path: folder.file("queues"))
        let script = PlaybackScript.simulation(seed: 1, duration: nil)
        let first = try script.openQueue(in: folder, key, device, now: clock.now, joins: false, ticket: ticket)
        #expect(folder.queue(of: key.user, in: ticket.run)?.session == key.session)
        #expect(folder.queue(of: key.user, in: next.run) == nil)
        withExtendedLifetime(first) {}
    }

    @Test(arguments: [(0.19, 5.0), (0.21, 2.0)])
    func `low battery lowers the sending rate, never what is measured`(battery: Double, interval: Double) throws {
        let services = FakeServices(key: key, device: device, clock: clock)
        let ticket = try ticket()
        let header = QueueHeader(
            user: key.user, session: key.session, device: device, beganAt: clock.now,
            source: .simulation(seed: 7, rate: 1), ticket: ticket)
        let steps = SimulatedRun(seed: 7, start: clock.now, duration: nil, ticket: ticket)
        var playback = Playback(
            header: header, contents: QueueContents(), steps: Drained(steps: steps, battery: battery),
            pace: Pace(beganAt: clock.moment, origin: clock.now, speed: 1), client: client,
            newID: { CommandID(UUID()) })
        playback.connected()
        let sent = try play(&playback, seconds: 64, services)
        let gaps = zip(sent.dropFirst(2), sent.dropFirst(3)).map { $1.at - $0.at }
        #expect(!gaps.isEmpty && gaps.allSatisfy { abs($0 - interval) < 0.11 }, "\(gaps)")
        // One sample each second, sent or not.
        #expect(playback.samples.count == 61)
        let times = services.samples.compactMap(\.time)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1.seconds(since: $0) == 1 })
    }

    @Test func `a device without values sends a heartbeat every 3 s`() throws {
        let services = FakeServices(key: key, device: device, clock: clock)
        var playback = playback(try ticket(), rate: 0.1)
        playback.connected()
        _ = try play(&playback, seconds: 40, services)
        let began = try #require(services.samples.first?.time)
        let times = services.samples.compactMap { $0.time?.seconds(since: began) }
        #expect(Array(times.prefix(9)) == [0, 3, 6, 9, 10, 13, 16, 19, 20])
        #expect(services.samples.prefix(9).map { $0.present == 0 }.filter(\.self).count == 6)
        #expect(services.locations.count == times.count { $0.truncatingRemainder(dividingBy: 10) == 0 })
    }

    @Test(arguments: [RunGoal.distance(100), .duration(60)], [RunClock.active, .gun])
    func `it ends at the goal, and pauses count by the clock of the run`(goal: RunGoal, kind: RunClock) throws {
        let services = FakeServices(key: key, device: device, clock: clock)
        var playback = playback(try ticket(goal, kind))
        playback.connected()
        _ = try play(&playback, seconds: 20, services)
        for (action, seconds) in [(SessionAction.pause, 20.0), (.resume, 100)] {
            let command = Command(id: CommandID(UUID()), client: nil, at: clock.now, action: action)
            for answer in services.answer(Topic.session(key, .command).message(JSONCoding.encode(command))) {
                _ = playback.receiveMessage(answer, clock.moment)
            }
            _ = try play(&playback, seconds: seconds, services)
        }
        #expect(services.commands.last?.action.name == "end")
        let segments = try #require(services.session?.segments)
        let active = segments.activeDuration()
        let elapsed = try #require(segments.last?.end?.seconds(since: segments[0].start))
        let distance = zip(services.samples, services.samples.dropFirst()).filter { before, after in
            let segment = after.time.flatMap { segments.segment(containing: $0) }
            return before.time.map { segment?.contains($0) == true } ?? false
        }.reduce(0) { $0 + ($1.1[.distance] ?? 0) }
        switch (goal, kind) {
        case (.distance(let meters), _): #expect((meters...meters + 4).contains(distance))
        case (.duration(let seconds), .active): #expect((seconds...seconds + 3).contains(active))
        case (.duration(let seconds), .gun): #expect((seconds...seconds + 2).contains(elapsed))
        }
    }

    @Test func `a refused start is repeated while the run lasts, and dropped once it is over`() throws {
        let services = FakeServices(key: key, device: device, clock: clock, faults: .init(startsPostponed: .max))
        var playback = playback(try ticket())
        playback.connected()
        _ = try play(&playback, seconds: 30, services)
        #expect(services.commands.count == 6 || services.commands.count == 7)
        #expect(playback.outcome == nil && services.samples.isEmpty)
        let over = view { ($0.status, $0.revision) = (.finished, 6) }
        _ = playback.receiveMessage(
            Topic.user(key.user, .virtualRun(run)).message(JSONCoding.encode(over)), clock.moment)
        #expect(playback.outcome == nil)
        _ = try play(&playback, seconds: 6, services)
        guard case .missed(let refusal) = playback.outcome else { throw Unexpected() }
        #expect(refusal.code == "session_in_progress")
    }

    @Test func `a refused start is dropped once another session of the user is in the run`() throws {
        let services = FakeServices(key: key, device: device, clock: clock, faults: .init(startsPostponed: .max))
        var playback = playback(try ticket())
        playback.connected()
        _ = try play(&playback, seconds: 2, services)
        let other = view {
            ($0.status, $0.revision) = (.running, 6)
            $0.participants[0].status = .running
        }
        _ = playback.receiveMessage(
            Topic.user(key.user, .virtualRun(run)).message(JSONCoding.encode(other)), clock.moment)
        _ = try play(&playback, seconds: 6, services)
        guard case .missed = playback.outcome else { throw Unexpected() }
    }

    @Test func `a killed device continues from its queue with the same start and goal`() async throws {
        let services = FakeServices(key: key, device: device, clock: clock, faults: .init(loseBatch: 5, loseReply: 3))
        let bus = FakeBus(services)
        let ticket = try ticket(.distance(600))
        var kills = 0
        while true {
            // A restarted device finds the ticket in its queue.
            let service = service(kills == 0 ? ticket : nil, bus, speed: 4)
            let isDone = try await bus.play(clock, ticks: kills < 8 ? 90 : .max) { try await service.run() }
            if isDone { break }
            kills += 1
        }
        #expect(kills > 3)
        let starts = services.commands.filter { $0.action.name == "start" }
        #expect(Set(starts.map(\.id)) == [ticket.startId])
        let distance = services.samples.reduce(0) { $0 + ($1[.distance] ?? 0) }
        #expect((600...604).contains(distance))
        let times = services.samples.compactMap(\.time)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1.seconds(since: $0) == 1 })
    }

    @Test func `a run canceled in the countdown discards the session`() throws {
        let services = FakeServices(key: key, device: device, clock: clock)
        var playback = playback(try ticket())
        playback.connected()
        _ = try play(&playback, seconds: 1, services)
        let canceled = view { ($0.status, $0.revision) = (.canceled, 6) }
        _ = playback.receiveMessage(
            Topic.user(key.user, .virtualRun(run)).message(JSONCoding.encode(canceled)), clock.moment)
        _ = try play(&playback, seconds: 1, services)
        #expect(services.commands.map(\.action.name) == ["start", "discard"])
    }
}

private struct Unexpected: Error {}

/// Steps of a device with another battery.
private struct Drained: IteratorProtocol {
    var steps: SimulatedRun
    let battery: Double

    mutating func next() -> Step? {
        guard let step = steps.next() else { return nil }
        guard case .sample(var sample) = step.kind, sample[.battery] != nil else { return step }
        sample[.battery] = battery
        return Step(at: step.at, .sample(sample))
    }
}
