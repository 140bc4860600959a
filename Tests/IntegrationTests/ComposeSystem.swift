import Bus
import Foundation
import MQTT
import TestSupport
import Workouts

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
            "live-activity-publisher", "virtual-run", "importer", "dashboard", "device", "pacebus",
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
        _ = await eventually { output.contains("Ctrl-C stops everything") || output.hasSuffix("\nStopping\n") }
        guard output.contains("Ctrl-C stops everything") else {
            throw ComposeFolder.Failure(text: "compose/up: \(output)")
        }
    }

    /// What `compose/up` printed.
    var output: String { (try? String(contentsOfFile: compose.folder.file("up.log"), encoding: .utf8)) ?? "" }

    /// What a device printed to `device.log` in the folder.
    var deviceLog: String {
        (try? String(contentsOfFile: compose.folder.file("device.log"), encoding: .utf8)) ?? ""
    }

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

    /// The programs that keep the folder's data locked.
    func claimants() async throws -> [String] {
        let script = """
            cd \(compose.folder.path)
            source compose/common.sh
            source compose/state.sh
            for id in $(claimants); do cat "/proc/$id/comm" 2>/dev/null || true; done
            """
        return try String(decoding: await ChildProcess.output(of: ["bash", "-c", script]), as: UTF8.self)
            .split(separator: "\n").map(String.init)
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

extension ComposeSystem {
    /// The broker's port for clients.
    var port: UInt16 {
        get throws { try port(of: "mqtt") }
    }

    /// The port in a listener's URL.
    func port(of name: String) throws -> UInt16 {
        guard let port = URL(string: try url(name))?.port.flatMap({ UInt16($0) }) else {
            throw ComposeFolder.Failure(text: "no port in \(try url(name))")
        }
        return port
    }

    /// Starts the device `watch-1`, which plays a recording into a session with the password of its user.
    func replay(_ recording: [UInt8], _ key: SessionKey, password: Secret, speedUp: Int = 0) throws -> ChildProcess {
        let folder = compose.folder
        let (file, secret) = (folder.file("\(key.user).fit"), folder.file("\(key.user).password"))
        try Data(recording).write(to: URL(filePath: file))
        try Data(password.value.utf8).write(to: URL(filePath: secret))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
        return try Installation.run(
            "device",
            [
                "replay", file, "--user", "\(key.user)", "--session", "\(key.session)", "--device", "watch-1",
                "--speed-up", "\(speedUp)", "--queue-folder", folder.file("queue"), "--mqtt-url",
                "mqtt://\(key.user)@127.0.0.1:\(try port)",
            ], environment: ["MQTT_PASSWORD_FILE=\(secret)"], log: folder.file("device.log"))
    }

    /// Runs `body` with a client of the operator that receives everything, of one broker if there are several.
    func observe<R: Sendable>(
        _ listener: String = "mqtt", _ body: (BusObserver) async throws -> R
    ) async throws -> R {
        try await BusObserver.run(
            port: try port(of: listener), account: "_operator", password: try compose.password(of: "_operator"), body)
    }
}
