import Foundation
import TestSupport
import Workouts

/// A clean installation: real broker, real processes, stores in a temporary folder.
final class Installation {
    enum Service: String, CaseIterable {
        case engine = "session-engine"
        case aggregator = "metrics-aggregator"
        case router = "route-builder"
        case exporter
        case virtualRun = "virtual-run"
        case importer
        case weatherFetcher = "weather-fetcher"
        case publisher = "live-activity-publisher"
    }

    /// The services of every workout.
    static let workoutServices: [Service] = [.engine, .aggregator, .router, .exporter]
    static let runServices = workoutServices + [.virtualRun, .importer]

    let broker: Mosquitto
    let folder: TemporaryFolder
    private let stores: String
    private var processes: [Service: ChildProcess] = [:]
    private var weather: ChildProcess?
    private let exportSettings: [String]

    /// - Parameters:
    ///   - stores: the folder of the stores; by default that of the installation.
    ///   - exportSettings: settings of the exporter besides its folder.
    ///   - services: the services to start.
    init(
        stores: String? = nil, exportSettings: [String] = [], services: [Service] = workoutServices
    ) async throws {
        self.exportSettings = exportSettings
        folder = try TemporaryFolder()
        self.stores = stores ?? folder.path
        broker = try await Mosquitto()
        for service in services { try start(service) }
    }

    deinit {
        for process in processes.values { process.end(SIGTERM) }
        weather?.end(SIGTERM)
        broker.stop()
    }

    private func start(_ service: Service) throws {
        var settings = [
            "--mqtt-url", "mqtt://127.0.0.1:\(broker.port)", "--store-url",
            "sqlite:\(stores)/\(service.rawValue).sqlite",
        ]
        if service == .exporter {
            settings += ["--export-folder", exports, "--export-formats", "fit,tcx,gpx,csv,json"] + exportSettings
        }
        // No one listens there.
        if service == .weatherFetcher { settings += ["--weather-url", "http://127.0.0.1:9"] }
        processes[service] = try Self.run(service.rawValue, settings, log: log(service))
    }

    /// The folder of exports.
    var exports: String { folder.file("exports") }

    /// Starts weather-fetcher with an Open-Meteo server at this URL.
    func fetchWeather(from url: String) throws {
        weather = try Self.run(
            "weather-fetcher",
            [
                "--mqtt-url", "mqtt://127.0.0.1:\(broker.port)", "--store-url",
                "sqlite:\(stores)/weather-fetcher.sqlite",
                "--weather-url", url,
            ], log: folder.file("weather-fetcher.log"))
    }

    /// `kill -9` and immediately a new process on the same store.
    func kill(_ service: Service) throws {
        processes[service]?.end(SIGKILL)
        try start(service)
    }

    /// `kill -9` and a new process on an empty store.
    func lose(_ service: Service) throws {
        processes[service]?.end(SIGKILL)
        for suffix in ["", "-wal", "-shm", ".lock"] {
            let path = "\(stores)/\(service.rawValue).sqlite\(suffix)"
            if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        }
        try start(service)
    }

    /// Starts `pacebus` with a command and its options.
    func pacebus(_ arguments: [String], log: String) throws -> ChildProcess {
        try Self.run(
            "pacebus", arguments + ["--mqtt-url", "mqtt://127.0.0.1:\(broker.port)"], log: log)
    }

    /// Kills every service and the broker five times in random order, each after a few more packets of the link.
    func killEverything(while link: FaultyLink, within packets: Int, _ random: inout SeededRandom) async throws {
        for _ in 0..<5 {
            let services = processes.keys.sorted { $0.rawValue < $1.rawValue }
            for victim in (services.map(Optional.some) + [nil]).shuffled(using: &random) {
                let moment = link.packets + Int.random(in: 1...packets, using: &random)
                // Without traffic the next kill follows after a timeout.
                _ = await eventually(within: .seconds(5)) { link.packets >= moment }
                if let victim {
                    try kill(victim)
                } else {
                    broker.kill()
                    try await broker.start()
                }
            }
        }
    }

    /// Stops a service while the link carries some packets more: its sockets stay open and silent.
    func freeze(_ service: Service, while link: FaultyLink, for packets: Int) async {
        processes[service]?.send(SIGSTOP)
        defer { processes[service]?.send(SIGCONT) }
        let moment = link.packets + packets
        // Devices wait for a frozen service's acknowledgements.
        _ = await eventually(within: .seconds(3)) { link.packets >= moment }
    }

    /// `kill -9` for all services, without new processes.
    func killServices() {
        for process in processes.values { process.end(SIGKILL) }
        processes = [:]
    }

    /// The file with a process's output.
    func log(_ service: Service) -> String { folder.file("\(service.rawValue).log") }

    /// Starts one of the package's executables.
    ///
    /// - Parameter environment: `NAME=VALUE`, besides the environment of the tests.
    static func run(
        _ name: String, _ arguments: [String], environment: [String] = [], log: String
    ) throws -> ChildProcess {
        try ChildProcess(["env"] + environment + [executable(name)] + arguments, log: log)
    }

    /// The path of one of the package's executables, which are beside the tests.
    static func executable(_ name: String) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: tests).deletingLastPathComponent().appending(path: name).path
    }

    /// Starts a device that plays a recording into a session, through the port of the broker or of a link to it.
    func replay(
        _ recording: String, _ key: SessionKey, device: String = "watch-1", port: UInt16? = nil, speedUp: Double = 0,
        joins: Bool = false, withoutDistance: Bool = false
    ) throws -> ChildProcess {
        try Self.run(
            "device",
            [
                "replay", recording, "--user", "\(key.user)", "--session", "\(key.session)", "--device", device,
                "--speed-up", "\(speedUp)", "--queue-folder", folder.file("queue"), "--mqtt-url",
                "mqtt://127.0.0.1:\(port ?? broker.port)",
            ] + (joins ? ["--join"] : []) + (withoutDistance ? ["--without-distance"] : []),
            log: folder.file("device.log"))
    }

    var deviceLog: String { (try? String(contentsOfFile: folder.file("device.log"), encoding: .utf8)) ?? "" }
}
