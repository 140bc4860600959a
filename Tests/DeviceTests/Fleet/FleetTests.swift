import Bus
import Client
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Device

/// A fleet, with fake services for each runner.
@Suite struct FleetTests {
    private let clock = ManualClock()
    private let device = Device("watch-3f9a")!

    private func service(
        _ keys: [SessionKey], speed: Double = 10, duration: Int? = 30, _ bus: FakeBus,
        _ written: TerminalRecorder = TerminalRecorder()
    ) -> FleetService {
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "device"), logger: .silent, bus: bus, clock: clock)
        return FleetService(
            context: context, terminal: written.terminal, keys: keys, device: device, seed: 7, rate: 2,
            duration: duration, speed: speed)
    }

    private func play(_ bus: FakeBus, _ body: @escaping @Sendable () async throws -> Void) async throws {
        #expect(try await bus.play(clock, body))
    }

    @Test func `each runner has a session whose workout holds all of its items`() async throws {
        let keys = FleetService.keys(5)
        let services = keys.map { FakeServices(key: $0, device: device, clock: clock) }
        let bus = FakeBus(services)
        let written = TerminalRecorder()
        let fleet = service(keys, bus, written)
        try await play(bus) { try await fleet.run() }
        #expect(keys.map { $0.user.description } == (1...5).map { "runner-000\($0)" })
        for services in services {
            #expect(services.samples.count == 61)
            #expect(services.locations.count == 61)
            let times = services.samples.compactMap(\.time)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1.seconds(since: $0) == 0.5 })
            #expect(services.commands.map(\.action.name) == ["start", "end"])
        }
        #expect(Set(services.map { $0.samples[10][.heartRate] ?? 0 }).count > 1)
        #expect(written.text.contains("5 sessions with 610 items are over"))
        #expect(written.text.contains("items/s"))
    }

    @Test func `lost messages are sent again`() async throws {
        let keys = FleetService.keys(3)
        let faults = FakeServices.Faults(loseBatch: 3, loseReply: 2, workoutsLost: 1)
        let services = keys.map { FakeServices(key: $0, device: device, clock: clock, faults: faults) }
        let bus = FakeBus(services)
        let fleet = service(keys, bus)
        try await play(bus) { try await fleet.run() }
        #expect(services.map(\.samples.count) == [61, 61, 61])
    }

    @Test func `totals that are late are no loss of items`() async throws {
        let keys = FleetService.keys(3)
        // The second comes with the repeated end.
        let faults = FakeServices.Faults(workoutsIncomplete: 2)
        let services = keys.map { FakeServices(key: $0, device: device, clock: clock, faults: faults) }
        let bus = FakeBus(services)
        let written = TerminalRecorder()
        let fleet = service(keys, bus, written)
        try await play(bus) { try await fleet.run() }
        #expect(services.allSatisfy { $0.commands.map(\.action.name) == ["start", "end", "end"] })
        #expect(written.text.contains("3 sessions with 366 items are over"))
    }

    @Test func `Ctrl-C ends every session and waits for the workouts`() async throws {
        let keys = FleetService.keys(3)
        let services = keys.map { FakeServices(key: $0, device: device, clock: clock) }
        let bus = FakeBus(services)
        let written = TerminalRecorder()
        let fleet = service(keys, speed: 1, duration: nil, bus, written)
        try await play(bus) {
            var loop = FleetLoop(service: fleet)
            var ticks = 0
            try await fleet.context.follow(loop.subscriptions) { event in
                if case .tick = event { ticks += 1 }
                if ticks == 200, case .tick = event, try await loop.handle(.stop) != nil { return () }
                return try await loop.handle(event)
            }
        }
        #expect(services.allSatisfy { $0.commands.last?.action.name == "end" })
        #expect(written.text.contains("3 sessions"))
    }

    @Test func `Ctrl-C while runners start skips those that have not begun`() async throws {
        let keys = FleetService.keys(200)
        let services = FakeServices(key: keys[0], device: device, clock: clock)
        let bus = FakeBus(services)
        let written = TerminalRecorder()
        let fleet = service(keys, speed: 1, duration: nil, bus, written)
        try await play(bus) {
            var loop = FleetLoop(service: fleet)
            var isStopped = false
            try await fleet.context.follow(loop.subscriptions) { event in
                if !isStopped, case .tick = event {
                    // In the first turn only the first runner begins.
                    _ = try await loop.handle(event)
                    isStopped = true
                    return try await loop.handle(.stop)
                }
                return try await loop.handle(event)
            }
        }
        #expect(services.commands.map(\.action.name) == ["start", "discard"])
    }

    @Test func `workouts missing 10 s after Ctrl-C are an error`() async throws {
        let keys = FleetService.keys(2)
        let services = keys.map { key in
            FakeServices(
                key: key, device: device, clock: clock, faults: .init(workoutsLost: key == keys[0] ? .max : 0))
        }
        let bus = FakeBus(services)
        let fleet = service(keys, speed: 1, duration: nil, bus)
        let error = await #expect(throws: FleetStopped.self) {
            try await play(bus) {
                var loop = FleetLoop(service: fleet)
                var ticks = 0
                try await fleet.context.follow(loop.subscriptions) { event in
                    if case .tick = event { ticks += 1 }
                    if ticks == 200, case .tick = event, try await loop.handle(.stop) != nil { return () }
                    return try await loop.handle(event)
                }
            }
        }
        #expect(error?.description == "no workout for 1 of 2 sessions")
    }

    @Test func `a runner whose session is lost has failed`() async throws {
        let keys = FleetService.keys(2)
        let services = keys.map { FakeServices(key: $0, device: device, clock: clock) }
        let bus = FakeBus(services)
        let written = TerminalRecorder()
        let fleet = service(keys, bus, written)
        let error = await #expect(throws: FleetStopped.self) {
            _ = try await bus.play(clock) {
                var loop = FleetLoop(service: fleet)
                var ticks = 0
                try await fleet.context.follow(loop.subscriptions) { event in
                    if case .tick = event { ticks += 1 }
                    if ticks == 30, case .tick = event { try await bus.publish(services[1].purge()) }
                    return try await loop.handle(event)
                }
            }
        }
        #expect(error?.description == "1 of 2 sessions failed")
        #expect(written.text.contains("runner-0002: the server has lost the session, and a fleet keeps no queue"))
    }
}
