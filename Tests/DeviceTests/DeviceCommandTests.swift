import ArgumentParser
import Client
import ServiceKit
import Testing
import Workouts

@testable import Device

/// The command line of `device`.
@Suite struct DeviceCommandTests {
    @Test(arguments: [
        (["replay", "run.fit", "--speed-up", "-1"], "0 or more"), (["simulate", "--duration", "long"], "0 or more"),
        (["simulate", "--device", "Watch 1"], "lowercase letters, digits and dashes"),
        (["simulate", "--user", "Ann B"], "lowercase letters, digits, - and _"),
        (["simulate", "--rate", "fast"], "0.001 to 1000"), (["simulate", "--devices", "many"], "1 to 100000"),
        (["simulate", "--seed", "-1"], "whole number"),
        (["simulate", "--speed-up", "0"], "--speed-up 0 requires --duration"),
        (["simulate", "--rate", "0"], "allowed: 0.001 to 1000"),
        (["replay", "run.fit", "--activity", "0"], "invalid --activity '0'; allowed: 1 or more"),
        (["simulate", "--devices", "0"], "invalid --devices '0'; allowed: 1 to 100000"),
    ])
    func `an invalid value is refused with the allowed ones`(arguments: [String], allowed: String) throws {
        let error = #expect(throws: (any Error).self) { try DeviceCommand.parseAsRoot(arguments) }
        let text = DeviceCommand.fullMessage(for: try #require(error)).replacing(/\s+/, with: " ")
        #expect(text.contains(allowed))
    }

    @Test func `the version is printed`() throws {
        let error = #expect(throws: (any Error).self) { try DeviceCommand.parseAsRoot(["--version"]) }
        #expect(DeviceCommand.message(for: try #require(error)) == pacebusVersion)
    }
}
