import Foundation
import MQTT
import TestSupport
import Testing

/// The dashboard's pages in Chromium against a running system.
@Suite(
    .timeLimit(.minutes(60)), .disabled(if: Python.lacks("playwright"), "PYTHON has no playwright"),
    .enabled(if: ProcessInfo.processInfo.environment["WEB_FOLDER"] != nil, "needs WEB_FOLDER"))
struct DashboardPageTests {
    @Test func `an athlete starts, pauses and ends a workout by the keyboard alone`() async throws {
        let system = try await ComposeSystem.run()
        defer { system.process.end(SIGTERM) }
        let password = try await system.compose.addAccount("anna").value
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "dashboard_page.py")
        let output = try await ChildProcess.output(of: [
            "bash", "-c", "printf '%s\\n' \"$0\" | \"$@\"", password, Python.interpreter, program.path,
            try system.url("web"), "anna",
        ])
        #expect(
            String(decoding: output, as: UTF8.self) == """
                Log in
                Start new
                Outdoor Running
                Pause
                Paused

                """)
    }

    @Test func `the README's picture can be made of the simulated run, and is small`() async throws {
        let system = try ComposeSystem(try ComposeSystem.folder(), hasDemo: true)
        defer { system.process.end(SIGTERM) }
        try await system.started()
        let program = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../DashboardTests/browser/picture.py").standardizedFileURL
        let picture = system.compose.folder.file("live.webp")
        _ = try await ChildProcess.output(of: [
            "bash", "-c", "\"$@\" <\"$0\"", system.compose.folder.file("data/secrets/demo"), Python.interpreter,
            program.path, try system.url("web"), "demo", picture,
        ])
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: picture)))
        #expect(bytes.starts(with: Array("RIFF".utf8)) && bytes[8...].starts(with: Array("WEBP".utf8)))
        #expect(bytes.count <= 60_000)
    }
}
