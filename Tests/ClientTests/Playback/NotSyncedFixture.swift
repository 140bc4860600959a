import FIT
import Formats
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client

/// A recording, the device that plays it with its queue on disk, and the sessions that the server may lose.
struct NotSyncedFixture {
    let folder: TemporaryFolder
    let clock = ManualClock()
    let device = Device("watch-3f9a")!
    let file: RecordingFile
    let key = SessionKey(User("ann")!, SessionID(UUID()))

    init(duration: Int = 600, pauses: [ClosedRange<Int>] = [150...200, 400...405]) throws {
        folder = try TemporaryFolder()
        let bytes = FITFixture.workout(start: 1_600_000_000, duration: duration, pauses: pauses)
        try Data(bytes).write(to: URL(fileURLWithPath: folder.file("run.fit")))
        file = try RecordingFile(path: folder.file("run.fit"))
    }

    /// The session, its successor, the successor of that …
    func generations(_ faults: FakeServices.Faults = .init()) -> [FakeServices] {
        sequence(first: key) { SessionKey($0.user, $0.session.successor) }.prefix(4)
            .map { FakeServices(key: $0, device: device, clock: clock, faults: faults) }
    }

    func service(
        _ bus: FakeBus, script: PlaybackScript? = nil, speed: Double = 60,
        _ recorder: TerminalRecorder = TerminalRecorder(), device: Device? = nil, joins: Bool = false
    ) -> PlaybackService {
        PlaybackService(
            context: ServiceContext(
                configuration: ServiceConfiguration(name: "device"), logger: .silent, bus: bus, clock: clock),
            terminal: recorder.terminal, folder: queues, key: key, device: device ?? self.device,
            scripts: [script ?? .recording(file)], speed: speed, joins: joins)
    }

    func play(_ service: PlaybackService, _ bus: FakeBus, ticks: Int = .max) async throws -> Bool {
        try await bus.play(clock, ticks: ticks) { try await service.run() }
    }

    var queues: QueueFolder { QueueFolder(path: folder.file("queues")) }

    var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: queues.path).sorted() }
    }

    func name(_ services: FakeServices) -> String {
        "\(services.key.user).\(services.key.session).\(device).jsonl"
    }

    /// Expects the whole recording in a session that names the one it replaces.
    func expectWhole(_ services: FakeServices, inPlaceOf lost: FakeServices) {
        #expect(services.samples == file.recording.samples)
        #expect(services.locations == file.recording.locations)
        #expect(
            services.session?.segments.map { [$0.start, $0.end] }
                == file.recording.segments.map { [$0.lowerBound, $0.upperBound] })
        #expect(services.session?.notSynced == lost.key.session)
        #expect(services.session?.statusName == .saving)
    }
}
