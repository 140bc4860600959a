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
        return """
            // What pages show of an activity: the rows of Swift's `Activity`. `ModuleTests` prints it if they differ.

            /** @typedef {{ title: string, figure?: string, cadence?: string, swims?: boolean }} Row */

            /** @type {Record<string, Row>} */
            export const activities = {
            \(rows.joined())};

            """
    }

    @Test
    func `the pages' activities are the rows of the table`() throws {
        let text = try String(contentsOf: Self.modules.appending(path: "activities.js"), encoding: .utf8)
        let expected = Self.activities
        #expect(text == expected, "Services/Dashboard/Web/modules/activities.js is not:\n\(expected)")
    }

    /// Loaded on one kind of page alone, with the modules of all pages.
    private static let ofPages = [
        "Home": ["home.js", "start.js", "cards.js", "people-map.js", "places.js"],
        "a live page": [
            "drawing.js", "kilometres.js", "live.js", "live-plan.js", "notices.js", "plan.js", "rest.js", "screen.js",
            "speech.js",
        ],
        "logging out": ["logout.js"],
        "plans": ["plans.js"],
        "the bus": ["bus.js", "mqtt.js", "requests.js"],
        "the operator": ["operator.js"],
        "a virtual run": [
            "ask.js", "notices.js", "people.js", "run.js", "run-lanes.js", "run-map.js", "run-results.js", "speech.js",
            "virtual-run.js",
        ],
        "virtual runs": ["ask.js", "people.js", "run-form.js", "runs.js"],
    ]

    @Test
    func `the modules that a page loads take at most 36 KiB compressed`() async throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.modules, includingPropertiesForKeys: nil)
        var sizes: [String: Int] = [:]
        for file in files {
            sizes[file.lastPathComponent] = try await ChildProcess.output(
                of: [
                    "bash", "-c", "source $0/compose/web.sh; without_comments $1 | gzip -9", Self.root.path, file.path,
                ]
            ).count
        }
        let shared = sizes.filter { name, _ in !Self.ofPages.values.contains { $0.contains(name) } }.values.reduce(0, +)
        #expect(shared > 0)
        for (page, names) in Self.ofPages {
            #expect(try names.map { try #require(sizes[$0]) }.reduce(shared, +) <= 36 * 1_024, "\(page)")
        }
    }

    @Test
    func `the icons are those that pages show`() throws {
        let web = Self.modules.deletingLastPathComponent()
        let names = try String(contentsOf: web.appending(path: "icons.txt"), encoding: .utf8)
            .split(separator: "\n").map(String.init)
        let folders = ["Web/modules", "Web/templates", "Pages", "Plans"].map {
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
