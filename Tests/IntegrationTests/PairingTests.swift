import Foundation
import TestSupport
import Testing

/// `compose/user pair`, whose codes a program reads from the terminal, and Chromium as the phone's browser.
@Suite(.timeLimit(.minutes(60)), .disabled(if: Python.lacks("playwright"), "PYTHON has no playwright"))
struct PairingTests {
    @Test func `a phone's browser is paired by two codes, once, until its device is revoked`() async throws {
        let system = try await ComposeSystem.run(nil, ["--listen", "127.0.0.1"])
        defer { system.process.end(SIGTERM) }
        _ = try await system.compose.addAccount("anna")
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "pairing.py")
        let output = try await ChildProcess.output(of: [
            Python.interpreter, program.path, system.compose.folder.path, "anna",
        ])
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(
            lines == [
                "the page has the fingerprint: True", "application/x-x509-ca-cert", "the certificate has it: True",
                "other files: 404", "the dashboard's certificate is trusted: 200", "the token is an argument: False",
                "the file's mode: 0o600 0o700", "the address keeps the token: False",
                "Paired: anna's phone-…. If the phone is lost: compose/user device revoke anna phone-… 0",
                #"records as: {"phone ":"the device"}"#, "logged in as: anna",
                "This link is used or older than five minutes. Make a new one: compose/user pair NAME", "revoked",
            ])
    }

    @Test func `a device with an unused link is revoked when the command ends`() async throws {
        let system = try await ComposeSystem.run()
        defer { system.process.end(SIGTERM) }
        _ = try await system.compose.addAccount("anna")
        let folder = system.compose.folder
        let log = folder.file("pair.log")
        let command = try ChildProcess([folder.file("compose/user"), "pair", "anna"], log: log)
        func output() -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
        #expect(await eventually { output().contains("Ctrl-C revokes it") }, "\(output())")
        #expect(output().contains("Only browsers of this machine reach http://127.0.0.1:"))
        #expect(try await system.command("user", "list").output.contains("anna, devices: phone-"))
        command.send(SIGTERM)
        #expect(await command.finish() != 0)
        #expect(try await system.command("user", "list").output.contains("phone-") == false)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("data/run/pairings")).isEmpty)
    }
}
