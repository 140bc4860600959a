import Bus
import Formats
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Client

/// The queue on disk while its session is lost and the process is killed.
@Suite struct NotSyncedQueueTests {
    private let fixture: NotSyncedFixture

    init() throws {
        fixture = try NotSyncedFixture()
    }

    /// The queue of a lost session and that of its successor, as bytes.
    private func lostQueue(_ generations: [FakeServices], _ bus: FakeBus) async throws -> (old: Data, new: Data) {
        #expect(try await !fixture.play(fixture.service(bus), bus, ticks: 125))
        try await bus.publish(generations[0].purge())
        let path = "\(fixture.queues.path)/\(fixture.name(generations[0]))"
        let old = try Data(contentsOf: URL(fileURLWithPath: path))
        let source = QueueHeader.Source.recording(fingerprint: fixture.file.fingerprint)
        let queue = try fixture.queues.open(
            fixture.key, fixture.device, now: fixture.clock.now, source: source, joins: false
        ) { $0 == source }
        let next = try fixture.queues.succeed(queue)
        let new = try Data(contentsOf: URL(fileURLWithPath: next.path))
        #expect(try fixture.files == [fixture.name(generations[1])])
        try next.remove()
        return (old, new)
    }

    @Test(arguments: [0, 1, 100, 5_000, -1])
    func `a crash while the new queue is written leaves the old one, which writes it again`(
        cut: Int
    ) async throws {
        let generations = fixture.generations()
        let bus = FakeBus(generations)
        let (old, new) = try await lostQueue(generations, bus)
        try write(old, fixture.name(generations[0]))
        // The file is complete and has no final name yet.
        try write(cut < 0 ? new : new.prefix(cut), fixture.name(generations[1]) + ".new")
        #expect(try await fixture.play(fixture.service(bus), bus))
        fixture.expectWhole(generations[1], inPlaceOf: generations[0])
        #expect(generations[2].commands.isEmpty)
        #expect(try fixture.files.isEmpty)
    }

    @Test(arguments: [true, false])
    func `a crash after the new queue exists continues with it, with or without the old one`(
        isOldThere: Bool
    ) async throws {
        let generations = fixture.generations()
        let bus = FakeBus(generations)
        let (old, new) = try await lostQueue(generations, bus)
        if isOldThere { try write(old, fixture.name(generations[0])) }
        try write(new, fixture.name(generations[1]))
        // The first session finds the queue.
        let written = TerminalRecorder()
        let device = fixture.queues.devices(of: fixture.key).first
        #expect(device == fixture.device)
        let service = fixture.service(bus, written, device: device)
        let before = generations[0].commands.count
        #expect(try await !fixture.play(service, bus, ticks: 2))
        #expect(try fixture.files == [fixture.name(generations[1])])
        #expect(try await fixture.play(service, bus))
        fixture.expectWhole(generations[1], inPlaceOf: generations[0])
        #expect(generations[0].commands.count == before)
        #expect(generations[2].commands.isEmpty)
        #expect(written.text.contains("session \(generations[1].key.session) of ann, device watch-3f9a\n"))
        #expect(try fixture.files.isEmpty)
    }

    private func write(_ bytes: some DataProtocol, _ name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(fixture.queues.path)/\(name)"))
    }

    @Test func `a full disk keeps the old queue`() async throws {
        let generations = fixture.generations()
        let bus = FakeBus(generations)
        #expect(try await !fixture.play(fixture.service(bus), bus, ticks: 75))
        try await bus.publish(generations[0].purge())
        // A folder in place of the new queue.
        let obstacle = "\(fixture.queues.path)/\(fixture.name(generations[1])).new"
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
        await #expect(throws: QueueError.self) { try await fixture.play(fixture.service(bus), bus) }
        #expect(fixture.queues.devices(of: fixture.key) == [fixture.device])
        try FileManager.default.removeItem(atPath: obstacle)
        #expect(try await fixture.play(fixture.service(bus), bus))
        fixture.expectWhole(generations[1], inPlaceOf: generations[0])
    }

    @Test(arguments: 0..<8)
    func `a device that is killed repeatedly while sessions are lost logs the workout once and whole`(run: Int)
        async throws
    {
        var random = SeededRandom("a session is lost at any moment, run \(run)")
        let generations = fixture.generations(.init(loseBatch: 5, loseReply: 3))
        let bus = FakeBus(generations)
        let losses = Int.random(in: 1...3, using: &random)
        var lost = 0
        var kills = 0
        while true {
            // A playback that waits longer than one life also ends.
            let isCalm = kills > 20
            let ticks = isCalm ? Int.max : Int.random(in: 1...250, using: &random)
            if try await fixture.play(fixture.service(bus, speed: 30), bus, ticks: ticks) { break }
            kills += 1
            guard !isCalm, lost < losses, let session = generations[lost].session,
                Int.random(in: 0..<4, using: &random) == 0
            else { continue }
            // An ended session does not expire.
            if session.isUnfinished, Bool.random(using: &random) {
                try await bus.publish(generations[lost].purge())
            } else {
                bus.forget(Topic.session(generations[lost].key, .state))
                bus.forget(Topic.session(generations[lost].key, .workout))
                generations[lost].forget()
            }
            lost += 1
        }
        let ended = generations.filter { $0.session?.statusName == .saving }
        #expect(ended.count == 1)
        #expect(ended.first?.samples == fixture.file.recording.samples)
        #expect(ended.first?.locations == fixture.file.recording.locations)
        #expect(
            ended.first?.session?.segments.map { [$0.start, $0.end] }
                == fixture.file.recording.segments.map { [$0.lowerBound, $0.upperBound] })
        #expect(try fixture.files.isEmpty)
    }
}
