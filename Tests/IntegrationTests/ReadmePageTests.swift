import Foundation
import MQTT
import TestSupport
import Testing

/// The web page in the README of `Bus`, in Chromium against a running system.
@Suite(.timeLimit(.minutes(60)), .disabled(if: Python.lacks("playwright"), "PYTHON has no playwright"))
struct ReadmePageTests {
    @Test func `the README's page shows a viewer the live workout and names a wrong password`() async throws {
        let port = try LoopbackSocket.freePort()
        let system = try ComposeSystem(
            ComposeSystem.folder(), environment: ["WEBSOCKET_ORIGINS=http://127.0.0.1:\(port)"], hasDemo: true)
        defer { system.process.end(SIGTERM) }
        try await system.started()
        let password = try await system.compose.addAccount("coach", "--viewer-of", "demo").value
        let folder = try TemporaryFolder()
        _ = try folder.write(try BusReadme.code("html"), to: "live.html")
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "readme_page.py")
        let output = try await ChildProcess.output(of: [
            "bash", "-c", "printf '%s\\n' \"$0\" | \"$@\"", password, Python.interpreter, program.path, folder.path,
            "\(port)", try system.url("web"), "coach", "demo",
        ])
        #expect(
            String(decoding: output, as: UTF8.self) == """
                Wrong account or password.
                Outdoor Running: active
                shown

                """)
    }
}
