import ArgumentParser
import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Pacebus

/// A terminal, a user and the services on one bus.
struct ControlFixture {
    let clock = ManualClock()
    let key = SessionKey(User("ann")!, SessionID(UUID()))
    let services: FakeServices
    let bus: FakeBus

    init(faults: FakeServices.Faults = .init()) {
        services = FakeServices(key: key, device: Workouts.Device("watch-1")!, clock: clock, faults: faults)
        bus = FakeBus(services)
    }

    /// The command of these arguments.
    static func command(_ arguments: [String]) throws -> any ControlCommand {
        try #require(try Pacebus.parseAsRoot(arguments) as? any ControlCommand)
    }

    private func service(_ arguments: [String], _ terminal: Terminal) throws -> ControlService {
        let command = try Self.command(arguments)
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "pacebus"), logger: .silent, bus: bus, clock: clock)
        return try command.build(context, try command.request(), terminal: terminal)
    }

    /// Runs a command to its end and returns its output.
    func run(_ arguments: [String]) async throws -> String {
        let output = TerminalRecorder()
        try await run(arguments, to: output)
        return output.text
    }

    /// Runs a command to its end.
    func run(
        _ arguments: [String], to output: TerminalRecorder, onTick: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws {
        let service = try service(arguments, output.terminal)
        #expect(try await bus.play(clock, onTick: onTick) { try await service.run() })
    }

    /// Runs a command on the session, named by its id.
    func run(_ action: String, _ options: String...) async throws -> String {
        try await run([action] + options + ["--user", "ann", "--session", "\(key.session)"])
    }

    /// Runs a command until `script` ends it.
    func run(
        _ arguments: [String], isInteractive: Bool = false, _ script: () async throws -> Void
    ) async throws -> String {
        let output = TerminalRecorder()
        var terminal = output.terminal
        terminal.isInteractive = isInteractive
        let service = try service(arguments, terminal)
        async let end: Void = service.run()
        try await script()
        try await end
        try #require(await eventually { clock.sleeperCount == 0 })
        return output.text
    }

    /// Advances the clock while a command runs.
    func pass(_ seconds: Double) async throws {
        for _ in 0..<Int(seconds * 20) {
            try await clock.waitForSleepers()
            try await bus.waitForReader()
            clock.advance(by: .milliseconds(50))
        }
        try await clock.waitForSleepers()
        try await bus.waitForReader()
    }

    /// Sends a command of another device.
    func command(_ action: SessionAction) async throws {
        let command = Command(id: CommandID(UUID()), client: Client("phone-1")!, at: clock.now, action: action)
        try await bus.publish(Topic.session(key, .command).message(JSONCoding.encode(command)))
    }
}

/// The example plans.
enum ExamplePlan: String, CaseIterable {
    case strength, emom, amrap, intervals

    var path: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Services/Pacebus/Plans/\(rawValue).json").standardized.path
    }

    func definition() throws -> WorkoutDefinition { try PlanFile(path: path).definition }
}
