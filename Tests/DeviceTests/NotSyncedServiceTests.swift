import ArgumentParser
import Bus
import FIT
import Foundation
import Logging
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Device

/// The playback as it is built, its queue on disk, while the server loses the session.
@Suite struct NotSyncedServiceTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()
    private let device = Device("watch-3f9a")!
    private let file: RecordingFile
    private let key = SessionKey(User("ann")!, SessionID(UUID()))

    init() throws {
        folder = try TemporaryFolder()
        let bytes = FITFixture.workout(start: 1_600_000_000, duration: 2_400, pauses: [600...700, 1_500...1_505])
        try Data(bytes).write(to: URL(fileURLWithPath: folder.file("run.fit")))
        file = try RecordingFile(path: folder.file("run.fit"))
    }

    /// The session, the one that stands in for it, the one that stands in for that.
    private func generations(_ faults: FakeServices.Faults = .init()) -> [FakeServices] {
        sequence(first: key) { SessionKey($0.user, $0.session.successor) }.prefix(4)
            .map { FakeServices(key: $0, device: device, clock: clock, faults: faults) }
    }

    private func service(
        _ bus: FakeBus, script: PlaybackScript? = nil, speed: Double = 60, _ written: WrittenOutput = WrittenOutput(),
        arguments: [String] = ["--device", "watch-3f9a"]
    ) throws -> PlaybackService {
        let options = try PlaybackOptions.parse(
            [
                "--user", "\(key.user)", "--session", "\(key.session)", "--queue-folder", queues.path, "--speed-up",
                "\(speed)",
            ] + arguments)
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "device"), logger: Logger(label: "device"), bus: bus, clock: clock
        )
        return options.build(context, script ?? .recording(file), terminal: written.terminal)
    }

    private func play(_ service: PlaybackService, _ bus: FakeBus, ticks: Int = .max) async throws -> Bool {
        var isOver: Bool?
        // What another test is about to start has this process' files open for a moment, and their locks with them.
        _ = try await eventually {
            do {
                isOver = try await bus.play(clock, ticks: ticks) { try await service.run() }
                return true
            } catch QueueError.inUse {
                return false
            }
        }
        return try #require(isOver as Bool?)
    }

    private var queues: QueueFolder { QueueFolder(path: folder.file("queues")) }

    private var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: queues.path).sorted() }
    }

    private func name(_ services: FakeServices) -> String {
        "\(services.key.user).\(services.key.session).\(device).jsonl"
    }

    /// Whether the services hold the whole recording under their session, which says what it stands in for.
    private func expectWhole(_ services: FakeServices, inPlaceOf lost: FakeServices) {
        #expect(services.samples == file.recording.samples)
        #expect(services.locations == file.recording.locations)
        #expect(
            services.session?.segments.map { [$0.start, $0.end] }
                == file.recording.segments.map { [$0.lowerBound, $0.upperBound] })
        #expect(services.session?.notSynced == lost.key.session)
        #expect(services.session?.statusName == .saving)
    }

    // MARK: What becomes of it

    @Test func `a workout whose session expired while the device was away is logged whole under a new one`()
        async throws
    {
        let generations = generations()
        let bus = FakeBus(generations)
        #expect(try await !play(service(bus), bus, ticks: 300))
        #expect(generations[0].samples.count > 100)
        try await bus.publish(generations[0].purge())
        let commands = generations[0].commands.count
        let written = WrittenOutput()
        #expect(try await play(service(bus, written), bus))
        expectWhole(generations[1], inPlaceOf: generations[0])
        #expect(generations[1].commands.map(\.action.name) == ["start", "pause", "resume", "pause", "resume", "end"])
        // The state told enough, but a command may have been on its way.
        #expect(generations[0].commands.count - commands <= 1)
        #expect(try files.isEmpty)
        let (old, new) = (key.session, generations[1].key.session)
        #expect(
            written.text.contains(
                "saved locally and not synced: the server no longer has session \(old); "
                    + "the workout is logged under the new session \(new)\n"))
        #expect(written.text.contains("Outdoor Running: 6.08 km, 38:15, average heart rate 135 bpm\n"))
        #expect(written.text.hasSuffix("synced under session \(new), in place of \(old)\n"))
    }

    @Test func `an end for a session that the engine has forgotten logs the workout under a new one`() async throws {
        let generations = generations(.init(workoutsLost: 1))
        let bus = FakeBus(generations)
        // Everything is acknowledged, and the workout is lost.
        #expect(try await !play(service(bus, speed: 0), bus, ticks: 100))
        #expect(generations[0].commands.last?.action.name == "end")
        bus.forget(Topic.session(key, .state))
        generations[0].forget()
        let written = WrittenOutput()
        #expect(try await play(service(bus, speed: 0, written), bus))
        #expect(generations[0].commands.map(\.action.name) == ["end", "end"])
        #expect(written.text.contains("the server does not have the session; asking again\n"))
        expectWhole(generations[1], inPlaceOf: generations[0])
        let start = try #require(generations[1].commands.first)
        guard case .start(let session) = start.action else {
            Issue.record("\(start)")
            return
        }
        #expect(start.at == file.recording.segments[0].lowerBound)
        #expect(session.endAt == generations[1].commands.last?.at)
        #expect(try files.isEmpty)
    }

    @Test func `a workout that was deleted, or given up, is not logged again`() async throws {
        for gaveUp in [false, true] {
            let generations = generations()
            let bus = FakeBus(generations)
            #expect(try await !play(service(bus), bus, ticks: 100))
            if gaveUp {
                let discard = Command(
                    id: CommandID(UUID()), client: Client("phone-1")!, at: clock.now, action: .discard)
                _ = generations[0].answer(Topic.session(key, .command).message(JSONCoding.encode(discard)))
            }
            try await bus.publish(generations[0].delete(givenUp: gaveUp ? .discarded : nil))
            let written = WrittenOutput()
            #expect(try await play(service(bus, written), bus))
            #expect(written.text.contains("the session was deleted\n"))
            #expect(generations[1].commands.isEmpty)
            #expect(try files.isEmpty)
        }
    }

    @Test func `a new session that must wait for another one waits`() async throws {
        let generations = generations(.init(startsPostponed: 2))
        let bus = FakeBus(generations)
        #expect(try await !play(service(bus), bus, ticks: 600))
        try await bus.publish(generations[0].purge())
        let written = WrittenOutput()
        #expect(try await play(service(bus, written), bus))
        #expect(generations[1].commands.prefix(3).map(\.action.name) == ["start", "start", "start"])
        expectWhole(generations[1], inPlaceOf: generations[0])
    }

    @Test func `played once more by its first name, a workout that is logged is not logged again`() async throws {
        let generations = generations()
        let bus = FakeBus(generations)
        #expect(try await !play(service(bus), bus, ticks: 300))
        try await bus.publish(generations[0].purge())
        #expect(try await play(service(bus), bus))
        let error = await #expect(throws: PlaybackStopped.self) { try await play(service(bus), bus) }
        #expect(error?.description.contains("the session has begun already") == true)
        expectWhole(generations[1], inPlaceOf: generations[0])
        #expect(generations[2].commands.isEmpty)
    }

    @Test func `a run that goes on while its session expires goes on in the new one, from its old start`() async throws
    {
        let generations = generations()
        let bus = FakeBus(generations)
        let script = PlaybackScript.simulation(seed: 3, duration: 120)
        #expect(try await !play(service(bus, script: script, speed: 10), bus, ticks: 100))
        let start = try #require(generations[0].samples.first?.time)
        let count = generations[0].samples.count
        #expect((1..<100).contains(count))
        try await bus.publish(generations[0].purge())
        #expect(try await play(service(bus, script: script, speed: 10), bus))
        #expect(generations[1].session?.startedAt == start)
        #expect(generations[1].samples.count == 121)
        let times = generations[1].samples.compactMap(\.time)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1.seconds(since: $0) == 1 })
        #expect(try files.isEmpty)
    }

    @Test func `a device that joined waits for the new session, whoever begins it`() async throws {
        let strap = Device("strap-77aa")!
        let arguments = ["--device", "\(strap)", "--join"]
        let leader = generations()
        let others = leader.map { FakeServices(key: $0.key, device: strap, clock: clock) }
        let bus = FakeBus(leader)
        #expect(try await !play(service(bus), bus, ticks: 300))
        #expect(try await !play(service(bus, arguments: arguments), bus, ticks: 100))
        try await bus.publish(leader[0].purge())
        let waiting = WrittenOutput()
        #expect(try await !play(service(bus, waiting, arguments: arguments), bus, ticks: 400))
        #expect(waiting.text.contains("under the new session \(leader[1].key.session)\n"))
        #expect(waiting.text.contains("waiting for the session to begin"))
        #expect(leader[1].commands.isEmpty)
        #expect(try await play(service(bus), bus))
        expectWhole(leader[1], inPlaceOf: leader[0])

        // The fake services know one device each: these are those of the strap, in the session as the other one ended it.
        var session = Session(
            key: leader[1].key, start: SessionStart(activity: .running, countdown: 0), at: file.recording.start,
            now: clock.now)
        try session.apply(.end(streams: [:]), at: file.recording.end)
        others[1].take(session)
        let strapBus = FakeBus(others)
        try await strapBus.publish(
            Topic.session(leader[1].key, .state).message(JSONCoding.encode(session.state(revision: 1 << 40))))
        #expect(try await play(service(strapBus, arguments: arguments), strapBus))
        #expect(others[1].samples == file.recording.samples)
        #expect(others[1].commands.map(\.action.name) == ["end"])
        #expect(try files.isEmpty)
    }

    @Test func `a runner of a fleet, of whom nothing is kept, has failed`() async throws {
        let keys = FleetService.keys(2)
        let services = keys.map { FakeServices(key: $0, device: device, clock: clock) }
        let bus = FakeBus(services)
        let written = WrittenOutput()
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "device"), logger: Logger(label: "device"), bus: bus, clock: clock
        )
        let fleet = FleetService(
            context: context, terminal: written.terminal, keys: keys, device: device, seed: 7, rate: 2, duration: 30,
            speed: 10)
        let error = await #expect(throws: FleetStopped.self) {
            _ = try await bus.play(clock) {
                var loop = FleetLoop(service: fleet)
                var ticks = 0
                try await context.follow(loop.subscriptions) { event in
                    if case .tick = event { ticks += 1 }
                    if ticks == 30, case .tick = event { try await bus.publish(services[1].purge()) }
                    return try await loop.handle(event)
                }
            }
        }
        #expect(error?.description == "1 sessions failed")
        #expect(written.text.contains("runner-0002: the server no longer has the session, and nothing of it is kept"))
    }

    // MARK: On disk

    /// The queue of a session that is over and lost, and the one that takes its place, as lines of bytes.
    private func lostQueue(_ generations: [FakeServices], _ bus: FakeBus) async throws -> (old: Data, new: Data) {
        #expect(try await !play(service(bus), bus, ticks: 500))
        try await bus.publish(generations[0].purge())
        let path = "\(queues.path)/\(name(generations[0]))"
        let old = try Data(contentsOf: URL(fileURLWithPath: path))
        let source = QueueHeader.Source.recording(fingerprint: file.fingerprint)
        let queue = try queues.open(key, device, now: clock.now, source: source, joins: false) { $0 == source }
        let next = try queues.succeed(queue)
        let new = try Data(contentsOf: URL(fileURLWithPath: next.path))
        #expect(try files == [name(generations[1])])
        try next.remove()
        return (old, new)
    }

    @Test(arguments: [0, 1, 100, 5_000, -1])
    func `a crash while the new queue is written leaves the old one, from which it is written again`(
        cut: Int
    ) async throws {
        let generations = generations()
        let bus = FakeBus(generations)
        let (old, new) = try await lostQueue(generations, bus)
        try write(old, name(generations[0]))
        // Of the whole file only its name is missing.
        try write(cut < 0 ? new : new.prefix(cut), name(generations[1]) + ".new")
        #expect(try await play(service(bus), bus))
        expectWhole(generations[1], inPlaceOf: generations[0])
        #expect(generations[2].commands.isEmpty)
        #expect(try files.isEmpty)
    }

    @Test(arguments: [true, false])
    func `a crash once the new queue is there goes on with it, whether the old one is still there or not`(
        isOldThere: Bool
    ) async throws {
        let generations = generations()
        let bus = FakeBus(generations)
        let (old, new) = try await lostQueue(generations, bus)
        if isOldThere { try write(old, name(generations[0])) }
        try write(new, name(generations[1]))
        // Neither its session nor the device need be known by their new names.
        let written = WrittenOutput()
        let service = try service(bus, written, arguments: [])
        #expect(service.device == device)
        let before = generations[0].commands.count
        #expect(try await !play(service, bus, ticks: 2))
        #expect(try files == [name(generations[1])])
        #expect(try await play(service, bus))
        expectWhole(generations[1], inPlaceOf: generations[0])
        #expect(generations[0].commands.count == before)
        #expect(generations[2].commands.isEmpty)
        #expect(written.text.contains("session \(generations[1].key.session) of ann, device watch-3f9a\n"))
        #expect(try files.isEmpty)
    }

    private func write(_ bytes: some DataProtocol, _ name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(queues.path)/\(name)"))
    }

    @Test func `a full disk keeps the old queue`() async throws {
        let generations = generations()
        let bus = FakeBus(generations)
        #expect(try await !play(service(bus), bus, ticks: 300))
        try await bus.publish(generations[0].purge())
        // Stands where the new queue is to be written.
        let obstacle = "\(queues.path)/\(name(generations[1])).new"
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
        await #expect(throws: QueueError.self) { try await play(service(bus), bus) }
        #expect(queues.devices(of: key) == [device])
        try FileManager.default.removeItem(atPath: obstacle)
        #expect(try await play(service(bus), bus))
        expectWhole(generations[1], inPlaceOf: generations[0])
    }

    @Test(arguments: 0..<8)
    func `killed again and again while sessions are lost, the workout is logged once and whole`(run: Int) async throws {
        var random = SeededRandom("a session is lost at any moment, run \(run)")
        let generations = generations(.init(loseBatch: 5, loseReply: 3))
        let bus = FakeBus(generations)
        let losses = Int.random(in: 1...3, using: &random)
        var lost = 0
        var kills = 0
        while true {
            // What is patient for longer than a life is short comes to its end as well.
            let isCalm = kills > 20
            let ticks = isCalm ? Int.max : Int.random(in: 1...250, using: &random)
            if try await play(service(bus, speed: 120), bus, ticks: ticks) { break }
            kills += 1
            guard !isCalm, lost < losses, let session = generations[lost].session,
                Int.random(in: 0..<4, using: &random) == 0
            else { continue }
            // What was ended does not expire.
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
        #expect(ended.first?.samples == file.recording.samples)
        #expect(ended.first?.locations == file.recording.locations)
        #expect(
            ended.first?.session?.segments.map { [$0.start, $0.end] }
                == file.recording.segments.map { [$0.lowerBound, $0.upperBound] })
        #expect(try files.isEmpty)
    }
}
