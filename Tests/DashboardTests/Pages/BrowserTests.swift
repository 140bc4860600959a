import Foundation
import TestSupport
import Testing

private let canRun =
    ProcessInfo.processInfo.environment["WEB_FOLDER"] != nil
    && FileManager.default.fileExists(atPath: "/usr/bin/chromium-headless-shell")
    && !Python.lacks("playwright, axe_playwright_python, paho")

/// The pages in Chromium, on a real broker with the plugin, the real dashboard, and a publisher that plays the services.
/// `SCREENSHOTS` names a folder for pictures; with it, `pages.py` visits every state.
@Suite(
    .enabled(if: canRun, "needs WEB_FOLDER, Chromium, and PYTHON with playwright and axe"), .serialized
)
struct BrowserTests {
    private static let scripts = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../browser")

    fileprivate static func run(_ script: String) async throws {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let dashboard = URL(filePath: tests).deletingLastPathComponent().appending(path: "dashboard").path
        let folder = try TemporaryFolder()
        try await ChildProcess.run(
            [
                "env", "DASHBOARD=\(dashboard)", Python.interpreter,
                Self.scripts.appending(path: "\(script).py").path,
            ], log: folder.file("log"))
    }

    @Test(arguments: [
        "account", "files", "gloves", "home", "imports", "late", "live", "map", "pages", "record_offline", "returning",
        "runs", "tiles",
    ])
    func `a browser finds no fault`(script: String) async throws { try await Self.run(script) }
}

extension BrowserTests {
    @Test(.enabled(if: ProcessInfo.processInfo.environment["NIGHTLY"] != nil, "takes long, without NIGHTLY=1"))
    func `a recording outlasts killed services, a killed browser and a full disk`() async throws {
        try await Self.run("record_sensors")
    }
}

/// Others, at the same time: two browsers use two cores.
@Suite(
    .enabled(if: canRun, "needs WEB_FOLDER, Chromium, and PYTHON with playwright and axe"), .serialized
)
struct MoreBrowserTests {
    @Test(arguments: [
        "compare", "contrast", "faults", "focus", "history", "keyboard", "offline", "operator_page", "partitions",
        "plans", "record", "record_lost", "record_plan", "stream", "workout",
    ])
    func `a browser finds no fault`(script: String) async throws { try await BrowserTests.run(script) }
}
