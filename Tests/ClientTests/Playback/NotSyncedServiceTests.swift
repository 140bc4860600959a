import Bus
import Formats
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client

/// The playback while the server loses the session.
@Suite struct NotSyncedServiceTests {
    private let fixture: NotSyncedFixture

    init() throws {
        fixture = try NotSyncedFixture()
    }

    @Test func `a workout whose session expired while the device was offline is logged whole under a new one`()
        async throws
    {
        let generations = fixture.generations()
        let bus = FakeBus(generations)
        #expect(try await !fixture.play(fixture.service(bus), bus, ticks: 75))
        #expect(generations[0].samples.count > 100)
        try await bus.publish(generations[0].purge())
        let commands = generations[0].commands.count
        let written = TerminalRecorder()
        #expect(try await fixture.play(fixture.service(bus, written), bus))
        fixture.expectWhole(generations[1], inPlaceOf: generations[0])
        #expect(generations[1].commands.map(\.action.name) == ["start", "pause", "resume", "pause", "resume", "end"])
        // The state is enough, but a command may be in flight.
        #expect(generations[0].commands.count - commands <= 1)
        #expect(try fixture.files.isEmpty)
        let (old, new) = (fixture.key.session, generations[1].key.session)
        #expect(
            written.text.contains(
                "saved locally and not synced: the server has lost session \(old); "
                    + "logging the workout as session \(new)\n"))
        #expect(written.text.contains("Outdoor Running: 1.44 km, 9:05, average heart rate 135 bpm\n"))
        #expect(written.text.hasSuffix("synced as session \(new), which replaces \(old)\n"))
    }

    @Test func `an end for a session that the engine lost logs the workout under a new one`() async throws {
        let generations = fixture.generations(.init(workoutsLost: 1))
        let bus = FakeBus(generations)
        // Everything is acknowledged, and the workout is lost.
        #expect(try await !fixture.play(fixture.service(bus, speed: 0), bus, ticks: 100))
        #expect(generations[0].commands.last?.action.name == "end")
        bus.forget(Topic.session(fixture.key, .state))
        generations[0].forget()
        let written = TerminalRecorder()
        #expect(try await fixture.play(fixture.service(bus, speed: 0, written), bus))
        #expect(generations[0].commands.map(\.action.name) == ["end", "end"])
        #expect(written.text.contains("session not found, retrying\n"))
        fixture.expectWhole(generations[1], inPlaceOf: generations[0])
        let start = try #require(generations[1].commands.first)
        guard case .start(let session) = start.action else {
            Issue.record("\(start)")
            return
        }
        #expect(start.at == fixture.file.recording.segments[0].lowerBound)
        #expect(session.endAt == generations[1].commands.last?.at)
        #expect(try fixture.files.isEmpty)
    }

    @Test func `a deleted or discarded workout is not logged again`() async throws {
        for gaveUp in [false, true] {
            let generations = fixture.generations()
            let bus = FakeBus(generations)
            #expect(try await !fixture.play(fixture.service(bus), bus, ticks: 25))
            if gaveUp {
                let discard = Command(
                    id: CommandID(UUID()), client: Client("phone-1")!, at: fixture.clock.now, action: .discard)
                _ = generations[0].answer(Topic.session(fixture.key, .command).message(JSONCoding.encode(discard)))
            }
            try await bus.publish(generations[0].delete(givenUp: gaveUp ? .discarded : nil))
            let written = TerminalRecorder()
            #expect(try await fixture.play(fixture.service(bus, written), bus))
            #expect(written.text.contains("the session was deleted\n"))
            #expect(generations[1].commands.isEmpty)
            #expect(try fixture.files.isEmpty)
        }
    }

    @Test func `a successor waits for another unfinished session`() async throws {
        let generations = fixture.generations(.init(startsPostponed: 2))
        let bus = FakeBus(generations)
        #expect(try await !fixture.play(fixture.service(bus, speed: 20), bus, ticks: 250))
        try await bus.publish(generations[0].purge())
        #expect(try await fixture.play(fixture.service(bus, speed: 20), bus))
        #expect(generations[1].commands.prefix(3).map(\.action.name) == ["start", "start", "start"])
        fixture.expectWhole(generations[1], inPlaceOf: generations[0])
    }

    @Test func `a logged workout played under its first session is not logged again`() async throws {
        let generations = fixture.generations()
        let bus = FakeBus(generations)
        #expect(try await !fixture.play(fixture.service(bus), bus, ticks: 75))
        try await bus.publish(generations[0].purge())
        #expect(try await fixture.play(fixture.service(bus), bus))
        let error = await #expect(throws: PlaybackStopped.self) { try await fixture.play(fixture.service(bus), bus) }
        #expect(error?.description.contains("the session has begun already") == true)
        fixture.expectWhole(generations[1], inPlaceOf: generations[0])
        #expect(generations[2].commands.isEmpty)
    }

    @Test func `a run whose session expires continues in the successor from its old start`() async throws {
        let generations = fixture.generations()
        let bus = FakeBus(generations)
        let script = PlaybackScript.simulation(seed: 3, duration: 120)
        #expect(try await !fixture.play(fixture.service(bus, script: script, speed: 10), bus, ticks: 100))
        let start = try #require(generations[0].samples.first?.time)
        let count = generations[0].samples.count
        #expect((1..<100).contains(count))
        try await bus.publish(generations[0].purge())
        #expect(try await fixture.play(fixture.service(bus, script: script, speed: 10), bus))
        #expect(generations[1].session?.startedAt == start)
        #expect(generations[1].samples.count == 121)
        let times = generations[1].samples.compactMap(\.time)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1.seconds(since: $0) == 1 })
        #expect(try fixture.files.isEmpty)
    }

    @Test func `a session that is lost during its recording begins again with its start`() async throws {
        // Longer than the playback continues without acknowledgements: no command is repeated.
        let fixture = try NotSyncedFixture(duration: 2_400, pauses: [])
        let generations = fixture.generations()
        let bus = FakeBus(generations)
        #expect(try await !fixture.play(fixture.service(bus), bus, ticks: 40))
        #expect(generations[0].samples.count > 100)
        bus.forget(Topic.session(fixture.key, .state))
        generations[0].forget()
        #expect(try await fixture.play(fixture.service(bus, speed: 0), bus))
        #expect(generations[0].samples == fixture.file.recording.samples)
        #expect(generations[0].locations == fixture.file.recording.locations)
        #expect(generations[0].session?.startedAt == fixture.file.recording.start)
        #expect(generations[1].commands.isEmpty)
        #expect(try fixture.files.isEmpty)
    }

    @Test func `an endless run begins again on a server that lost it`() async throws {
        let generations = fixture.generations()
        let bus = FakeBus(generations)
        let script = PlaybackScript.simulation(seed: 3, duration: nil)
        let service = fixture.service(bus, script: script, speed: 1)
        let isOver = try await bus.play(fixture.clock, ticks: 1_200) { tick in
            guard tick == 400 else { return }
            bus.forget(Topic.session(generations[0].key, .state))
            generations[0].forget()
        } _: {
            try await service.run()
        }
        #expect(!isOver)
        let times = generations[0].samples.compactMap(\.time)
        #expect(times.count > 50)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1.seconds(since: $0) == 1 })
        #expect(generations[0].session?.startedAt == times.first)
        #expect(generations[1].commands.isEmpty)
    }

    @Test func `the progress names the component that does not answer`() async throws {
        let generations = fixture.generations(.init(loseBatch: 1))
        let bus = FakeBus(generations)
        let written = TerminalRecorder()
        #expect(try await !fixture.play(fixture.service(bus, speed: 0, written), bus, ticks: 220))
        #expect(written.text.contains("\n0 of 1096 items acknowledged, waiting for metrics-aggregator\n"))
        #expect(generations[0].commands.map(\.action.name) == ["start", "pause", "resume", "pause", "resume", "end"])
        bus.cut()
        #expect(try await !fixture.play(fixture.service(bus, speed: 0, written), bus, ticks: 2))
        #expect(written.text.hasSuffix("\n0 of 1096 items acknowledged, waiting for the broker\n"))
    }

    @Test func `a joined device waits for the successor`() async throws {
        let strap = Device("strap-77aa")!
        let leader = fixture.generations()
        let others = leader.map { FakeServices(key: $0.key, device: strap, clock: fixture.clock) }
        let bus = FakeBus(leader)
        #expect(try await !fixture.play(fixture.service(bus), bus, ticks: 75))
        #expect(try await !fixture.play(fixture.service(bus, device: strap, joins: true), bus, ticks: 25))
        try await bus.publish(leader[0].purge())
        let waiting = TerminalRecorder()
        #expect(try await !fixture.play(fixture.service(bus, waiting, device: strap, joins: true), bus, ticks: 100))
        #expect(waiting.text.contains("logging the workout as session \(leader[1].key.session)\n"))
        #expect(waiting.text.contains("waiting for the session to begin"))
        #expect(leader[1].commands.isEmpty)
        #expect(try await fixture.play(fixture.service(bus), bus))
        fixture.expectWhole(leader[1], inPlaceOf: leader[0])

        // Fake services support one device each. These serve the strap, in the session that the other device ended.
        var session = Session(
            key: leader[1].key, start: SessionStart(activity: .running, countdown: 0), at: fixture.file.recording.start,
            now: fixture.clock.now)
        try session.apply(.end(streams: [:]), at: fixture.file.recording.end)
        others[1].take(session)
        let strapBus = FakeBus(others)
        try await strapBus.publish(
            Topic.session(leader[1].key, .state).message(JSONCoding.encode(session.state(revision: 1 << 40))))
        #expect(try await fixture.play(fixture.service(strapBus, device: strap, joins: true), strapBus))
        #expect(others[1].samples == fixture.file.recording.samples)
        #expect(others[1].commands.map(\.action.name) == ["end"])
        #expect(try fixture.files.isEmpty)
    }
}
