import Foundation
import TestSupport
import Testing

private let hasWebFolder = ProcessInfo.processInfo.environment["WEB_FOLDER"] != nil

/// The pages of a virtual run in two browsers, with a real broker, services and devices.
@Suite(
    .enabled(if: hasWebFolder, "WEB_FOLDER is not set"),
    .disabled(if: Python.lacks("axe_playwright_python"), "PYTHON has no axe-playwright-python"))
struct VirtualRunPageTests {
    @Test(
        .enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"), .timeLimit(.minutes(60)))
    func `two people invite, accept, confirm, run and read their results in browsers`() async throws {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../DashboardTests/browser/virtual_run.py").standardizedFileURL.path
        let folder = try TemporaryFolder()
        let dashboard = URL(filePath: tests).deletingLastPathComponent().appending(path: "dashboard").path
        try await ChildProcess.run(
            ["env", "DASHBOARD=\(dashboard)", Python.interpreter, script], log: folder.file("log"))
    }
}
