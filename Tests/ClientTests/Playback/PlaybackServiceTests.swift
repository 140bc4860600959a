import Bus
import FIT
import Formats
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client

/// The playback against services that lose messages.
@Suite struct PlaybackServiceTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()
    private let key = SessionKey(User("ann")!, SessionID(UUID()))
    private let device = Device("watch-3f9a")!
    private let file: RecordingFile

    init() throws {
        folder = try TemporaryFolder()
        let bytes = FITFixture.workout(start: 1_600_000_000, duration: 2_400, pauses: [600...700, 1_500...1_505])
        try Data(bytes).write(to: URL(fileURLWithPath: folder.file("run.fit")))
        file = try RecordingFile(path: folder.file("run.fit"))
    }

    private func service(
        _ script: PlaybackScript, speed: Double = 0, _ bus: FakeBus, _ written: TerminalRecorder = TerminalRecorder()
    ) -> PlaybackService {
        PlaybackService(
            context: ServiceContext(
                configuration: ServiceConfiguration(name: "device"), logger: .silent, bus: bus, clock: clock),
            terminal: written.terminal, folder: QueueFolder(path: folder.file("queues")), key: key, device: device,
            scripts: [script], speed: speed)
    }

    private func play(
        _ service: PlaybackService, _ bus: FakeBus, ticks: Int = .max,
        onTick: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> Bool {
        try await bus.play(clock, ticks: ticks, onTick: onTick) { try await service.run() }
    }

    private var queues: [Device] { QueueFolder(path: folder.file("queues")).devices(of: key) }

    @Test func `a recording arrives whole, its pauses included, and the queue is removed`() async throws {
        let services = FakeServices(key: key, device: device, clock: clock)
        let bus = FakeBus(services)
        let written = TerminalRecorder()
        #expect(try await play(service(.recording(file), bus, written), bus))
        #expect(services.samples == file.recording.samples)
        #expect(services.locations == file.recording.locations)
        #expect(services.commands.map(\.action.name) == ["start", "pause", "resume", "pause", "resume", "end"])
        #expect(
            services.session?.segments.map { [$0.start, $0.end] }
                == file.recording.segments.map { [$0.lowerBound, $0.upperBound] })
        #expect(queues.isEmpty)
        #expect(written.text.contains("session \(key.session)"))
        #expect(written.text.contains("Outdoor Running: 6.08 km, 38:15, average heart rate 135 bpm\n"))
    }

    @Test func `lost batches, replies and workouts and a postponed start change no result`() async throws {
        let faults = FakeServices.Faults(loseBatch: 3, loseReply: 2, workoutsLost: 2, startsPostponed: 2)
        let services = FakeServices(key: key, device: device, clock: clock, faults: faults)
        let bus = FakeBus(services)
        let written = TerminalRecorder()
        #expect(try await play(service(.recording(file), bus, written), bus))
        #expect(services.samples == file.recording.samples)
        #expect(services.locations == file.recording.locations)
        #expect(Set(services.commands.map(\.id)).count == 6)
        #expect(services.commands.count > 6)
        #expect(written.text.contains("unfinished"))
        #expect(queues.isEmpty)
    }

    @Test(arguments: [-3_600, 3_600])
    func `a wall clock that steps during the playback changes neither its items nor its pace`(seconds: Int) async throws
    {
        let services = FakeServices(key: key, device: device, clock: clock)
        let bus = FakeBus(services)
        let began = clock.moment
        let isDone = try await play(service(.recording(file), speed: 60, bus), bus) { [clock] tick in
            if tick == 200 { clock.step(by: .seconds(seconds)) }
        }
        #expect(isDone && services.samples == file.recording.samples)
        #expect((40...60).contains(clock.moment.seconds(since: began)))
    }

    @Test func `repeated connection losses change no result`() async throws {
        let services = FakeServices(key: key, device: device, clock: clock)
        let bus = FakeBus(services)
        let isDone = try await play(service(.recording(file), speed: 60, bus), bus) { tick in
            if tick % 20 == 5 { bus.cut() }
            if tick % 20 == 9 { bus.connect() }
        }
        #expect(isDone)
        #expect(services.samples == file.recording.samples)
        #expect(services.locations == file.recording.locations)
        #expect(queues.isEmpty)
    }

    @Test func `a device that is killed repeatedly continues from its queue to the same result`() async throws {
        let services = FakeServices(key: key, device: device, clock: clock, faults: .init(loseBatch: 5, loseReply: 3))
        let bus = FakeBus(services)
        var random = SeededRandom()
        var kills = 0
        while true {
            let ticks = Int.random(in: 1...150, using: &random)
            let service = service(.recording(file), speed: 60, bus)
            if try await play(service, bus, ticks: kills < 20 ? ticks : .max) { break }
            kills += 1
        }
        #expect(kills > 0)
        #expect(services.samples == file.recording.samples)
        #expect(services.locations == file.recording.locations)
        #expect(Set(services.commands.map(\.id)).count == 6)
        #expect(
            services.session?.segments.map { [$0.start, $0.end] }
                == file.recording.segments.map { [$0.lowerBound, $0.upperBound] })
        #expect(queues.isEmpty)
    }

    @Test func `a killed simulated run continues as the same run`() async throws {
        let script = PlaybackScript.simulation(seed: nil, duration: 120)
        let services = FakeServices(key: key, device: device, clock: clock)
        let bus = FakeBus(services)
        var kills = 0
        while try await !play(service(script, speed: 10, bus), bus, ticks: 60) { kills += 1 }
        #expect(kills > 0)
        #expect(services.samples.count == 121)
        #expect(services.locations.map(\.time) == services.samples.map(\.time))
        let times = services.samples.compactMap(\.time)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1.seconds(since: $0) == 1 })
    }

    @Test func `a second process on the same queue is refused`() async throws {
        let queue = try PlaybackScript.recording(file)
            .openQueue(in: QueueFolder(path: folder.file("queues")), key, device, now: clock.now, joins: false)
        let service = service(.recording(file), FakeBus([]))
        await #expect(throws: QueueError.inUse(path: queue.path)) { try await service.run() }
    }

    @Test func `another recording in the same queue is refused`() async throws {
        do {
            _ = try PlaybackScript.simulation(seed: 1, duration: nil)
                .openQueue(in: QueueFolder(path: folder.file("queues")), key, device, now: clock.now, joins: false)
        }
        let service = service(.recording(file), FakeBus([]))
        await #expect(throws: QueueError.self) { try await service.run() }
    }

    @Test func `a refused start ends it with the engine's message and keeps the queue`() async throws {
        let services = FakeServices(key: key, device: device, clock: clock)
        let bus = FakeBus(services)
        #expect(try await play(service(.recording(file), bus), bus))
        let again = service(.recording(file), bus)
        let error = await #expect(throws: PlaybackStopped.self) { try await play(again, bus) }
        #expect(error?.description.contains("the session has begun already") == true)
        #expect(queues == [device])
    }

    @Test func `too many items stop it, the queue keeps the rest, and a later run completes it`() async throws {
        let services = FakeServices(key: key, device: device, clock: clock, faults: .init(itemLimit: 1_000))
        let bus = FakeBus(services)
        let service = service(.recording(file), bus)
        let error = await #expect(throws: PlaybackStopped.self) { try await play(service, bus) }
        #expect(error?.description.contains("too_many_items") == true)
        #expect(error?.description.contains("wait 6 min; the queue is kept") == true)
        #expect(queues == [device])
        #expect((1...1_000).contains(services.samples.count))
        services.acceptItems(.max)
        #expect(try await play(service, bus))
        #expect(services.samples == file.recording.samples)
        #expect(services.locations == file.recording.locations)
        #expect(queues.isEmpty)
    }

    @Test func `Ctrl-C ends the session of a simulated run and waits for its workout`() async throws {
        let services = FakeServices(key: key, device: device, clock: clock)
        let bus = FakeBus(services)
        let output = TerminalRecorder()
        let isDone = try await stop(
            service(.simulation(seed: 4, duration: nil), speed: 1, bus, output), bus, tick: 200)
        #expect(isDone)
        #expect(services.commands.map(\.action.name) == ["start", "end"])
        #expect(services.commands.last?.at == services.samples.last?.time)
        #expect(services.locations.last?.time == services.samples.last?.time)
        #expect(output.text.contains("Outdoor Running"))
        #expect(queues.isEmpty)
    }

    @Test func `Ctrl-C during the countdown discards the session`() async throws {
        let services = FakeServices(key: key, device: device, clock: clock)
        let bus = FakeBus(services)
        let isDone = try await stop(
            service(.simulation(seed: 4, duration: nil), speed: 1, bus), bus, tick: 20)
        #expect(isDone)
        #expect(services.commands.map(\.action.name) == ["start", "discard"])
        #expect(queues.isEmpty)
    }

    @Test func `no workout within 10 s of Ctrl-C keeps the queue`() async throws {
        let services = FakeServices(key: key, device: device, clock: clock, faults: .init(workoutsLost: .max))
        let bus = FakeBus(services)
        let service = service(.simulation(seed: 4, duration: nil), speed: 1, bus)
        let before = clock.now
        await #expect(throws: PlaybackStopped.self) { try await stop(service, bus, tick: 200) }
        #expect((20...21).contains(clock.now.seconds(since: before)))
        #expect(queues == [device])
    }

    @Test func `Ctrl-C interrupts a recording and keeps the queue`() async throws {
        let services = FakeServices(key: key, device: device, clock: clock)
        let bus = FakeBus(services)
        let service = service(.recording(file), speed: 1, bus)
        let error = await #expect(throws: Interrupted.self) { try await stop(service, bus, tick: 200) }
        #expect(error?.description.contains("--device \(device)") == true)
        let end = "to end the workout here: pacebus end --user \(key.user) --session \(key.session)"
        #expect(error?.description.hasSuffix(end) == true)
        #expect(services.commands.map(\.action.name) == ["start"])
        #expect(queues == [device])
    }

    @Test func `a recording that is cut off is played up to the cut, with a sentence`() async throws {
        let bytes = FITFixture.workout(start: 1_600_000_000, duration: 2_400).prefix(20_000)
        try Data(bytes).write(to: URL(fileURLWithPath: folder.file("cut.fit")))
        let cut = try RecordingFile(path: folder.file("cut.fit"))
        let services = FakeServices(key: key, device: device, clock: clock)
        let bus = FakeBus(services)
        let written = TerminalRecorder()
        #expect(try await play(service(.recording(cut), bus, written), bus))
        #expect(services.samples == cut.recording.samples && services.samples.count > 500)
        let lines = written.text.split(separator: "\n").filter { $0.contains("cut off") }
        #expect(lines.count == 1 && lines[0].contains(/^the file is cut off at byte [0-9]+: the workout ends with/))
        #expect(!written.text.contains("more than 1 % off"))
    }

    /// Plays, with Ctrl-C at a tick of the clock.
    private func stop(_ service: PlaybackService, _ bus: FakeBus, tick: Int) async throws -> Bool {
        try await bus.play(clock) {
            var loop = try service.makeLoop()
            var ticks = 0
            let ending = try await service.context.follow(loop.subscriptions) { event in
                if case .tick = event { ticks += 1 }
                if ticks == tick, case .tick = event, let ending = try await loop.handle(.stop) { return ending }
                return try await loop.handle(event)
            }
            if ending == .done { try loop.queue.remove() }
        }
    }
}

@Suite struct FakeBusTests {
    @Test func `a wait for an absent subscriber times out`() async throws {
        let bus = FakeBus([])
        await #expect(throws: FakeBus.NoReader.self) { try await bus.waitForReader(bound: .milliseconds(1)) }
    }
}
