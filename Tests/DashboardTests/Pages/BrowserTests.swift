import Foundation
import TestSupport
import Testing

@testable import Dashboard

/// The pages in Chromium. `SCREENSHOTS` names a folder for pictures; with it, `pages.py` visits every state.
@Suite(
    .enabled(if: PageServer.hasBrowser, "needs WEB_FOLDER, Chromium, and PYTHON with playwright and axe"), .serialized
)
struct BrowserTests {
    private static let scripts = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../browser")

    @Test(arguments: ["pages", "late", "map", "keyboard", "returning", "gloves", "operator_page", "home", "focus"])
    func `a browser finds no fault`(script: String) async throws {
        try await run(script)
    }

    @Test func `tiles come with their attribution and bring no other request`() async throws {
        try await run("tiles") {
            $0.tileURL = "https://tiles.example/{z}/{x}/{y}.png"
            $0.tileAttribution = "© Example contributors"
        }
    }

    private func run(_ script: String, settings: (inout DashboardConfiguration) -> Void = { _ in }) async throws {
        let folder = try TemporaryFolder()
        try await PageServer.run(settings: settings) { url in
            try await ChildProcess.run(
                [Python.interpreter, Self.scripts.appending(path: "\(script).py").path, url], log: folder.file("log"))
        }
    }
}
