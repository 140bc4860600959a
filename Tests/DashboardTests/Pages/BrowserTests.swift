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

    @Test(arguments: ["pages", "map", "keyboard"])
    func `a browser finds no fault`(script: String) async throws {
        let folder = try TemporaryFolder()
        try await PageServer.run { url in
            try await ChildProcess.run(
                [Python.interpreter, Self.scripts.appending(path: "\(script).py").path, url], log: folder.file("log"))
        }
    }
}
