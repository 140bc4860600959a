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

/// The playback of a file with several workouts, against services that lose messages.
@Suite struct SeveralPlaybacksTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()
    private let key = SessionKey(User("ann")!, SessionID(UUID()))
    private let device = Device("watch-3f9a")!
    private let files: [RecordingFile]

    init() throws {
        folder = try TemporaryFolder()
        var fixture = FITFixture()
        for time in stride(from: 0, through: 300, by: 1) {
            fixture.add(
                20, local: 1, [.time(253, 1_600_000_000 + time), .init(3, .uint8, 120), .init(5, .uint32, time * 300)])
        }
        for from in [0, 101, 201] {
            fixture.add(
                18, local: 2,
                [.time(2, 1_600_000_000 + from), .init(7, .uint32, 90_000), .init(5, .enumeration, 1)])
        }
        try Data(fixture.bytes).write(to: URL(filePath: folder.file("three.fit")))
        files = try RecordingFile.all(path: folder.file("three.fit"))
    }

    private var queues: QueueFolder { QueueFolder(path: folder.file("queues")) }
    private var keys: [SessionKey] { files.indices.map { PlaybackService.key(key, $0) } }

    private func services(_ faults: FakeServices.Faults = .init()) -> [FakeServices] {
        keys.map { FakeServices(key: $0, device: device, clock: clock, faults: faults) }
    }

    private func service(_ bus: FakeBus, speed: Double, _ recorder: TerminalRecorder = .init()) -> PlaybackService {
        PlaybackService(
            context: ServiceContext(
                configuration: ServiceConfiguration(name: "device"), logger: .silent, bus: bus, clock: clock),
            terminal: recorder.terminal, folder: queues, key: key, device: device,
            scripts: files.map(PlaybackScript.recording), speed: speed)
    }

    private func play(_ service: PlaybackService, _ bus: FakeBus, ticks: Int = .max) async throws -> Bool {
        try await bus.play(clock, ticks: ticks) { try await service.run() }
    }

    private func expectAll(_ services: [FakeServices]) {
        for (services, file) in zip(services, files) {
            #expect(services.samples == file.recording.samples)
            #expect(services.session?.startedAt == file.recording.start)
            #expect(services.session?.statusName == .saving)
            #expect(Set(services.commands.map(\.id)).count == 2)
        }
        #expect(keys.flatMap { queues.devices(of: $0) }.isEmpty)
    }

    @Test func `all workouts of a file are played, each in its own session, and the output names them`() async throws {
        let services = services()
        let bus = FakeBus(services)
        let recorder = TerminalRecorder()
        #expect(try await play(service(bus, speed: 0, recorder), bus))
        expectAll(services)
        #expect(Set(keys.map(\.session)).count == 3)
        for number in 1...3 {
            #expect(recorder.text.contains("activity \(number) of 3, running, 2020-09-13T12:"))
        }
    }

    @Test func `a device that is killed repeatedly continues with the workout that it played`() async throws {
        let services = services(.init(loseBatch: 5, loseReply: 3))
        let bus = FakeBus(services)
        var random = SeededRandom()
        var kills = 0
        while true {
            let ticks = kills < 30 ? Int.random(in: 1...60, using: &random) : .max
            if try await play(service(bus, speed: 60), bus, ticks: ticks) { break }
            kills += 1
        }
        #expect(kills > 0)
        expectAll(services)
    }

    @Test func `an interruption names the session of the first workout`() async throws {
        let services = services(.init(itemLimit: 0))
        let bus = FakeBus(services)
        let error = await #expect(throws: PlaybackStopped.self) { try await play(service(bus, speed: 0), bus) }
        #expect(error?.description.contains("--session \(key.session) ") == true)
    }

    @Test func `siblings and successors of a session all differ`() {
        let session = SessionID(UUID())
        let all = [session, session.successor, session.successor.successor] + (1...50).map { session.sibling($0) }
        #expect(Set(all).count == all.count)
        #expect(session.sibling(3) == session.sibling(3))
    }
}

/// What a replay prints at its end.
@Suite struct ReplayOutputTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()
    private let key = SessionKey(User("ann")!, SessionID(UUID()))
    private let device = Device("watch-3f9a")!

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Plays a file through services that compute the totals of samples.
    private func output(_ bytes: [UInt8]) async throws -> TerminalRecorder {
        try Data(bytes).write(to: URL(filePath: folder.file("run.fit")))
        let services = FakeServices(key: key, device: device, clock: clock)
        let bus = FakeBus(services)
        let recorder = TerminalRecorder()
        let service = PlaybackService(
            context: ServiceContext(
                configuration: ServiceConfiguration(name: "device"), logger: .silent, bus: bus, clock: clock),
            terminal: recorder.terminal, folder: QueueFolder(path: folder.file("queues")), key: key, device: device,
            scripts: [.recording(try RecordingFile(path: folder.file("run.fit")))], speed: 0)
        #expect(try await bus.play(clock) { try await service.run() })
        return recorder
    }

    @Test func `without a terminal the last progress line counts every item`() async throws {
        let recorder = try await output(FITFixture.workout(start: 1_600_000_000, duration: 60))
        let lines = recorder.status.split(separator: "\n")
        #expect(lines.last == "122 of 122 items acknowledged, 0 reconnects")
    }

    @Test func `equal totals are not mentioned, different ones with both figures`() async throws {
        let same = try await output(FITFixture.workout(start: 1_600_000_000, duration: 600))
        #expect(!same.text.contains("more than 1 % off"))

        var fixture = FITFixture()
        for time in 0...100 {
            fixture.add(
                20, local: 1, [.time(253, 1_600_000_000 + time), .init(3, .uint8, 120), .init(5, .uint32, time * 300)])
        }
        fixture.add(
            18, local: 2,
            [
                .time(2, 1_600_000_000), .init(7, .uint32, 100_000), .init(9, .uint32, 200_000),
                .init(16, .uint8, 130), .init(22, .uint16, 90), .init(5, .enumeration, 1),
            ])
        let different = try await output(fixture.bytes)
        #expect(
            different.text.contains(
                "average heart rate 120 bpm, 90 m up\nmore than 1 % off: distance 300 m, in the file 2.00 km; "
                    + "average heart rate 120 bpm, in the file 130 bpm\n"))
    }

    @Test func `a file with totals alone is named as such`() async throws {
        var fixture = FITFixture()
        fixture.add(
            18, local: 2, [.time(2, 1_600_000_000), .init(7, .uint32, 100_000), .init(9, .uint32, 30_000)])
        let made = try await output(fixture.bytes)
        #expect(made.text.contains("the file has no measurements: its totals are spread over its time"))
        #expect(made.text.contains("300 m"))
    }
}
