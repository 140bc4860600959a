import Foundation
import TestSupport
import Testing

/// The JavaScript of the pages, tested by its own tools.
struct ModuleTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    private static let modules = root.appending(path: "Services/Dashboard/Web/modules")
    private static let tests = root.appending(path: "Tests/DashboardTests/modules")

    @Test
    func `formatters and reducers pass their tests under node`() async throws {
        let folder = try TemporaryFolder()
        let files = try FileManager.default.contentsOfDirectory(at: Self.tests, includingPropertiesForKeys: nil)
            .filter { $0.lastPathComponent.hasSuffix(".test.js") }
        try await ChildProcess.run(["node", "--test"] + files.map(\.path), log: folder.file("log"))
    }

    @Test
    func `modules have no type errors`() async throws {
        let folder = try TemporaryFolder()
        try await ChildProcess.run(
            ["tsc", "-p", Self.tests.appending(path: "tsconfig.json").path], log: folder.file("log"))
    }

    /// Loaded on the pages of virtual runs alone.
    private static let ofVirtualRuns: Set = ["ask.js", "run.js", "run-form.js", "runs.js", "virtual-run.js"]

    @Test
    func `modules take at most 35 KB compressed, and those of virtual runs 15 KB more`() async throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.modules, includingPropertiesForKeys: nil)
        var (sum, ofRuns) = (0, 0)
        for file in files {
            let size = try await ChildProcess.output(of: ["gzip", "-9", "-c", file.path]).count
            if Self.ofVirtualRuns.contains(file.lastPathComponent) { ofRuns += size } else { sum += size }
        }
        #expect(sum > 0 && sum <= 35_000)
        #expect(ofRuns > 0 && ofRuns <= 15_000)
    }

    @Test
    func `no module writes HTML`() throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.modules, includingPropertiesForKeys: nil)
        for file in files {
            let text = try String(contentsOf: file, encoding: .utf8)
            for name in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                #expect(!text.contains(name), "\(file.lastPathComponent) contains \(name)")
            }
        }
    }
}
