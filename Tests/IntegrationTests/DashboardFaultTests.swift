import Foundation
import TestSupport
import Testing

/// Faults of the dashboard's processes, networks, viewers and disk, in `faults/scenarios.py`.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct DashboardFaultTests {
    private static let programs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "faults")

    /// Runs scenarios side by side: most of their time they wait for a limit of the dashboard.
    private func run(_ program: String, _ scenarios: [String], web: String, seed: UInt64) async throws {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let executables = URL(filePath: tests).deletingLastPathComponent().path
        let folder = try TemporaryFolder()
        await withTaskGroup(of: Void.self) { tasks in
            for scenario in scenarios {
                tasks.addTask {
                    let log = folder.file("\(scenario).log")
                    let status = try? await ChildProcess(
                        [
                            Python.interpreter, "-B", Self.programs.appending(path: program).path, scenario,
                            executables,
                            web, "\(seed)",
                        ], log: log
                    ).finish()
                    let output = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                    #expect(status == 0, "\(scenario): \(output)")
                    // What it skipped.
                    if status == 0 { print(output, terminator: "") }
                }
            }
        }
    }

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `each press counts once, at its time, while processes, networks and disks fail`() async throws {
        let web = try TemporaryFolder()
        try DashboardProcess.copyTemplates(to: web.path)
        var random = SeededRandom()
        try await run(
            "scenarios.py",
            ["killed_and_stopped", "silent_broker", "account_at_its_limit", "full_disk", "viewers_that_stop_reading"],
            web: web.path, seed: random.next() >> 1)
    }

    @Test(
        .enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"),
        .disabled(if: Python.lacks("playwright"), "PYTHON has no playwright"),
        .enabled(if: ProcessInfo.processInfo.environment["WEB_FOLDER"] != nil, "needs WEB_FOLDER"))
    func `a page keeps a press through a reload and every fault, and says what does not answer`() async throws {
        let web = try #require(ProcessInfo.processInfo.environment["WEB_FOLDER"])
        try await run("pages.py", ["presses", "frozen_broker"], web: web, seed: 0)
    }
}
