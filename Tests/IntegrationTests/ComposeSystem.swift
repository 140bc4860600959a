import Foundation
import TestSupport

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A system that the real `compose/up` runs in its own folder, with the executables of this build.
final class ComposeSystem: Sendable {
    let compose: ComposeFolder
    let process: ChildProcess

    /// A folder in which `compose/up` finds executables and no sources.
    static func folder() throws -> ComposeFolder {
        let compose = try ComposeFolder()
        let bin = compose.folder.file(".build/bin")
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let products = URL(filePath: tests).deletingLastPathComponent()
        for name in [
            "session-engine", "metrics-aggregator", "route-builder", "weather-fetcher", "exporter",
            "live-activity-publisher", "virtual-run", "dashboard", "websocket-gateway", "device", "pacebus",
        ] {
            try FileManager.default.createSymbolicLink(
                atPath: bin + "/" + name, withDestinationPath: products.appending(path: name).path)
        }
        // Without it the dashboard starts and has no pages.
        if let web = ProcessInfo.processInfo.environment["WEB_FOLDER"] {
            try FileManager.default.createSymbolicLink(atPath: bin + "/web", withDestinationPath: web)
        }
        return compose
    }

    /// Starts `compose/up`.
    init(
        _ compose: ComposeFolder, _ arguments: [String] = [], environment: [String] = [], hasDemo: Bool = false
    ) throws {
        self.compose = compose
        process = try ChildProcess(
            ["env", "WEATHER_PROVIDER=none"] + environment + [compose.folder.file("compose/up")]
                + (hasDemo ? [] : ["--no-demo"])
                + arguments,
            log: compose.folder.file("up.log"))
    }

    /// Starts a system and waits until it runs.
    static func run(
        _ compose: ComposeFolder? = nil, _ arguments: [String] = [], environment: [String] = []
    ) async throws -> ComposeSystem {
        let system = try ComposeSystem(try compose ?? folder(), arguments, environment: environment)
        try await system.started()
        return system
    }

    /// Waits until it runs.
    func started() async throws {
        guard await eventually(within: .seconds(90), { output.contains("Ctrl-C stops everything") }) else {
            throw ComposeFolder.Failure(text: "compose/up: \(output)")
        }
    }

    /// What `compose/up` printed.
    var output: String { (try? String(contentsOfFile: compose.folder.file("up.log"), encoding: .utf8)) ?? "" }

    /// The process ids in `data/run/processes` by name.
    var ids: [String: Int32] {
        let lines = (try? String(contentsOfFile: compose.folder.file("data/run/processes"), encoding: .utf8)) ?? ""
        let pairs = lines.split(separator: "\n").map { $0.split(separator: " ") }
        return Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), Int32($0[1]) ?? 0) })
    }

    /// The programs that run in the folder, as `compose/up` and all it starts do.
    var programs: [String] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.filter { Int32($0) != nil }.compactMap { id in
            let folder = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/cwd")
            guard folder?.hasPrefix(compose.folder.path) == true else { return nil }
            return (try? String(contentsOfFile: "/proc/\(id)/comm", encoding: .utf8))?.trimmingCharacters(in: .newlines)
        }
    }

    /// A listener's URL in `data/run/urls`.
    func url(_ name: String) throws -> String {
        let lines = try String(contentsOfFile: compose.folder.file("data/run/urls"), encoding: .utf8)
        let line = lines.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        guard let line else { throw ComposeFolder.Failure(text: "no \(name) in \(lines)") }
        return String(line.dropFirst(name.count + 1))
    }

    /// The response to a GET on a process' health port.
    func get(_ name: String, _ path: String) async throws -> String {
        let (data, _) = try await URLSession.shared.data(from: URL(string: try url(name) + path)!)
        return String(decoding: data, as: UTF8.self)
    }

    /// Runs a command in the folder and returns its exit status and its output.
    func command(_ name: String, _ arguments: String...) async throws -> (status: Int32, output: String) {
        let log = compose.folder.file("\(UUID().uuidString).log")
        let process = try ChildProcess([compose.folder.file("compose/\(name)")] + arguments, log: log)
        return (await process.finish(), try String(contentsOfFile: log, encoding: .utf8))
    }
}
