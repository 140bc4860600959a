import Foundation
import TestSupport
import Testing
import Workouts

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

    /// The text of `activities.js`.
    private static var activities: String {
        let rows = Activity.allCases.map { activity in
            let values = [
                "title: \"\(activity.title)\"",
                activity.figure == .heartRate ? nil : "figure: \"\(activity.figure.rawValue)\"",
                activity.cadenceUnit == .unnamed ? nil : "cadence: \"\(activity.cadenceUnit.rawValue)\"",
                activity.isSwimming ? "swims: true" : nil,
            ]
            return "  \(activity.rawValue): {\(values.compactMap(\.self).joined(separator: ", "))},\n"
        }
        let words = Activity.allCases.filter { !$0.planWords.isEmpty }.map {
            "  \($0.rawValue): \"\($0.planWords.sorted().joined(separator: " "))\",\n"
        }
        return """
            // What pages show of an activity: the rows of Swift's `Activity`. `ModuleTests` prints it if they differ.

            /** @typedef {{ title: string, figure?: string, cadence?: string, swims?: boolean }} Row */

            /** @type {Record<string, Row>} */
            export const activities = {
            \(rows.joined())};

            /**
             * Words of a plan's focus and equipment that mean the activity.
             *
             * @type {Record<string, string>}
             */
            export const planWords = {
            \(words.joined())};

            """
    }

    @Test
    func `the pages' activities are the rows of the table`() throws {
        let text = try String(contentsOf: Self.modules.appending(path: "activities.js"), encoding: .utf8)
        let expected = Self.activities
        #expect(text == expected, "Services/Dashboard/Web/modules/activities.js is not:\n\(expected)")
    }

    @Test
    func `the icons are those that pages show`() throws {
        let web = Self.modules.deletingLastPathComponent()
        let names = try String(contentsOf: web.appending(path: "icons.txt"), encoding: .utf8)
            .split(separator: "\n").map(String.init)
        let folders = ["Web/modules", "Web/pages"].map {
            Self.root.appending(path: "Services/Dashboard").appending(path: $0)
        }
        let text = try folders.flatMap {
            try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
        }.map { try String(contentsOf: $0, encoding: .utf8) }.joined()
        for name in names { #expect(text.contains("#\(name)\"") || text.contains("\"\(name)\""), "\(name)") }
        let shown = text.matches(of: /icons\.svg#([a-z0-9-]+)/).map { String($0.1) }
        #expect(Set(shown).isSubset(of: names))
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
