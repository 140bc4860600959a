import ArgumentParser
import Bus
import Client
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Device

/// `device simulate --virtual-run`, against scripted services.
@Suite struct RunnerServiceTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()
    private let ann = User("ann")!
    private let ben = User("ben")!
    private let device = Device("watch-3f9a")!
    private let session = SessionID(UUID())
    private let virtualRun: FakeVirtualRun

    init() throws {
        folder = try TemporaryFolder()
        var settings = RunSettings()
        settings.goal = .distance(300)
        virtualRun = FakeVirtualRun([ann, ben], settings: settings, sessions: [ben: session], clock: clock)
        _ = virtualRun.change { $0.participants[0].status = .confirmed }
    }

    private func service(_ bus: FakeBus, _ written: TerminalRecorder = TerminalRecorder()) -> RunnerService {
        RunnerService(
            context: ServiceContext(
                configuration: ServiceConfiguration(name: "device"), logger: .silent, bus: bus, clock: clock),
            terminal: written.terminal, folder: QueueFolder(path: folder.file("queues")), user: ben,
            virtualRun: virtualRun.run, accepts: true, device: device,
            script: .simulation(seed: 3, duration: nil, rate: 1), speed: 5)
    }

    @Test func `it accepts, confirms, starts with the session of its row, prints the gaps and ends at the goal`()
        async throws
    {
        let services = FakeServices(key: SessionKey(ben, session), device: device, clock: clock)
        let bus = FakeBus([services], virtualRun: virtualRun)
        let written = TerminalRecorder()
        var row = Partners.Row(.participant(ann), link: .connected)
        (row.gapMeters, row.gapSeconds) = (29, 9)
        let partners = Partners(run: virtualRun.run, revision: 1, now: clock.now, rows: [row])
        let runner = service(bus, written)
        let topic = Topic.user(ben, .partners(virtualRun.run))
        let isDone = try await bus.play(clock) { tick in
            if tick == 200 { Task { try await bus.publish(topic.message(partners.payload)) } }
        } _: {
            try await runner.run()
        }
        #expect(isDone)
        #expect(virtualRun.requests.map(\.action.name) == ["show", "accept", "confirm"])
        #expect(services.commands.map(\.action.name) == ["start", "end"])
        #expect((300...304).contains(services.samples.reduce(0) { $0 + ($1[.distance] ?? 0) }))
        #expect(written.text.contains("ann 29 m ahead, 9 s · "))
        #expect(written.text.contains("Outdoor Running: 30"))
        #expect(QueueFolder(path: folder.file("queues")).queue(of: ben, in: virtualRun.run) == nil)
    }

    @Test func `a killed device continues without a view`() async throws {
        let services = FakeServices(key: SessionKey(ben, session), device: device, clock: clock)
        let bus = FakeBus([services], virtualRun: virtualRun)
        let runner = service(bus)
        #expect(try await !bus.play(clock, ticks: 300) { try await runner.run() })
        #expect(!services.samples.isEmpty)
        bus.forget(.user(ben, .virtualRun(virtualRun.run)))
        let requests = virtualRun.requests.count
        #expect(try await bus.play(clock) { try await runner.run() })
        #expect(virtualRun.requests.count == requests)
        #expect((300...304).contains(services.samples.reduce(0) { $0 + ($1[.distance] ?? 0) }))
    }

    @Test func `a run that the user has no part in ends it with the reason`() async throws {
        virtualRun.refuse("show", Refusal(code: "run_not_found", message: "run not found"))
        let bus = FakeBus([], virtualRun: virtualRun)
        let runner = service(bus)
        let error = await #expect(throws: RunEntryFailure.self) {
            _ = try await bus.play(clock) { try await runner.run() }
        }
        #expect(error?.description == "run not found")
    }

    @Test func `a fleet creates runs, and all runners accept, confirm and run`() async throws {
        let keys = FleetService.keys(3)
        let sessions = Dictionary(uniqueKeysWithValues: keys.map { ($0.user, $0.session) })
        let virtualRun = FakeVirtualRun(keys.map(\.user), sessions: sessions, clock: clock)
        let services = keys.map { FakeServices(key: $0, device: device, clock: clock) }
        let bus = FakeBus(services, virtualRun: virtualRun)
        let written = TerminalRecorder()
        let fleet = FleetService(
            context: ServiceContext(
                configuration: ServiceConfiguration(name: "device"), logger: .silent, bus: bus, clock: clock),
            terminal: written.terminal, keys: keys, device: device, seed: 7, rate: 1, duration: 30, speed: 1, runSize: 3
        )
        #expect(try await bus.play(clock) { try await fleet.run() })
        let names = virtualRun.requests.map(\.action.name)
        #expect(names.count { $0 == "create" } == 1 && names.count { $0 == "accept" } == 2)
        #expect(names.count { $0 == "begin" } == 1 && names.count { $0 == "confirm" } == 3)
        for services in services {
            #expect(services.samples.count == 31)
            #expect(services.samples.first?.time == virtualRun.view.startsAt)
            guard case .start(let start) = services.commands.first?.action else { continue }
            #expect(start.run == virtualRun.run)
        }
        #expect(written.text.contains("3 sessions with 186 items are over"))
    }
}

@Suite struct SimulateOptionsTests {
    private let run = "0f1e2d3c-4b5a-4968-8776-655443322110"

    private func problem(_ arguments: String...) -> String? {
        do {
            _ = try Simulate.parse(arguments)
            return nil
        } catch {
            return Simulate.message(for: error)
        }
    }

    @Test func `options of virtual runs exclude those that a run decides`() {
        #expect(problem("--virtual-run", run, "--accept") == nil)
        #expect(problem("--devices", "100", "--run-size", "50") == nil)
        #expect(problem("--accept")?.contains("--accept requires --virtual-run") == true)
        #expect(problem("--run-size", "5")?.contains("--run-size requires --devices") == true)
        #expect(problem("--devices", "3", "--run-size", "5")?.contains("invalid --run-size '5'") == true)
        #expect(problem("--devices", "100", "--run-size", "51")?.contains("2 to 50") == true)
        #expect(problem("--devices", "3", "--virtual-run", run)?.contains("use --run-size") == true)
        #expect(problem("--virtual-run", run, "--session", run)?.contains("do not apply to --virtual-run") == true)
        #expect(problem("--virtual-run", "x") != nil)
    }
}
