import Foundation
import MQTT
import TestSupport
import Testing

/// The dashboard's pages in Chromium against a running system.
@Suite(
    .timeLimit(.minutes(4)), .disabled(if: Python.lacks("playwright"), "PYTHON has no playwright"),
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
                Finished and saved.

                """)
    }
}
