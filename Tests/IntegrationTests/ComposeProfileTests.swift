import Bus
import Foundation
import TestSupport
import Testing
import Workouts

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Docker Compose beside `PYTHON`, which needs no Docker for its `config`.
private enum DockerCompose {
    static let path = URL(filePath: Python.interpreter).deletingLastPathComponent().appending(path: "docker-compose")
        .path
    static let isInstalled = FileManager.default.isExecutableFile(atPath: path)
}

/// The profiles of `compose.yaml`, as Docker Compose reads them. Their containers run without Docker.
@Suite(
    .serialized, .enabled(if: DockerCompose.isInstalled, "PYTHON has no docker-compose beside it"),
    .timeLimit(.minutes(60)))
struct ComposeProfileTests {
    private static let program = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "container.py").path
    /// An account without a name, as in a container.
    private static let user = "4321"

    private struct Model: Decodable {
        struct Service: Decodable {
            struct Port: Decodable {
                var published: String?
                var target: Int
            }
            struct Dependency: Decodable {
                var condition: String
                var required: Bool
            }
            var ports: [Port]?
            var dependsOn: [String: Dependency]?
            var environment: [String: String?]?
        }
        var services: [String: Service]
    }

    /// Writes the model with a profile to a file and returns both.
    private func model(_ folder: TemporaryFolder, profile: String? = nil) async throws -> (file: String, Model) {
        let file = folder.file("\(profile ?? "default").json")
        let project = folder.file("compose")
        try await ChildProcess.run(
            ["env", "PACEBUS_USER=\(Self.user):\(Self.user)", DockerCompose.path]
                + ["--project-directory", project, "--file", project + "/compose.yaml"]
                + (profile.map { ["--profile", $0] } ?? []) + ["config", "--format", "json"], log: file)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return (file, try decoder.decode(Model.self, from: Data(contentsOf: URL(filePath: file))))
    }

    @Test func `the profile scale adds PostgreSQL, and services with replicas have no fixed port`() async throws {
        let folder = try ComposeFolder().folder
        let (_, usual) = try await model(folder)
        let (_, scaled) = try await model(folder, profile: "scale")
        #expect(Set(scaled.services.keys) == Set(usual.services.keys).union(["postgres"]))
        #expect(usual.services["postgres"] == nil)
        let state = try String(contentsOfFile: folder.file("compose/state.sh"), encoding: .utf8)
        let scalable = try #require(state.split(separator: "\n").first { $0.hasPrefix("scalable=(") })
        for (name, service) in scaled.services where service.environment?["STORE_URL"] != nil {
            #expect(service.dependsOn?["postgres"]?.condition == "service_healthy", "\(name)")
            #expect(service.dependsOn?["postgres"]?.required == false, "\(name)")
            let isFree = service.ports?.contains { $0.published != nil } == false
            #expect(!isFree || scalable.contains(name), "\(name) may not have replicas")
        }
        for name in ["session-engine", "metrics-aggregator", "route-builder"] {
            #expect(scaled.services[name]?.ports?.map(\.published) == [nil], "\(name)")
        }
    }

    // MARK: Running containers

    /// Runs a service's container in the folder of an installation.
    private func run(
        _ name: String, _ model: String, in folder: TemporaryFolder, settings: [String] = [], log: String? = nil
    ) throws -> ChildProcess {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let programs = URL(filePath: tests).deletingLastPathComponent().path
        return try ChildProcess(
            ["unshare", "--mount", "python3", Self.program, model, name, folder.path, Self.user, programs] + settings,
            log: folder.file(log ?? "\(name).log"))
    }

    private func log(_ name: String, _ folder: TemporaryFolder) -> String {
        (try? String(contentsOfFile: folder.file("\(name).log"), encoding: .utf8)) ?? "no log"
    }

    private func get(_ port: UInt16, _ path: String) async -> String? {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)"),
            let (data, response) = try? await URLSession.shared.data(from: url),
            (response as? HTTPURLResponse)?.statusCode == 200
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    /// The health check of `postgres`, in its container.
    private func isReady(_ postgres: ChildProcess, _ folder: TemporaryFolder) async throws -> Bool {
        try await ChildProcess(
            [
                "nsenter", "--target", "\(postgres.id)", "--mount", "--root", "--setuid", Self.user, "--setgid",
                Self.user, "/pacebus/compose/database", "--is-ready",
            ], log: folder.file("ready.log")
        ).finish() == 0
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can give a process folders of its own"),
        .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
    func `four containers of metrics-aggregator share its shards, and PostgreSQL starts again after a crash`()
        async throws
    {
        let compose = try ComposeFolder()
        let folder = compose.folder
        try await compose.needAccounts()
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        let (file, model) = try await model(folder, profile: "scale")
        var postgres = try run("postgres", file, in: folder)
        #expect(try await eventually { try await isReady(postgres, folder) }, "\(log("postgres", folder))")
        let names = [String](repeating: "metrics-aggregator", count: 4) + ["session-engine", "dashboard"]
        var containers: [(ChildProcess, port: UInt16)] = []
        defer { for (process, _) in containers { process.end(SIGTERM) } }
        for (number, name) in names.enumerated() {
            let url = try #require(model.services[name]?.environment?["MQTT_URL"] ?? nil)
            let port = try LoopbackSocket.freePort()
            let settings = [
                "HTTP_PORT=\(port)", "WEB_PORT=\(try LoopbackSocket.freePort())",
                "MQTT_URL=\(url.replacing("broker:1883", with: "127.0.0.1:\(broker.port)"))",
            ]
            containers.append((try run(name, file, in: folder, settings: settings, log: "\(number).log"), port))
        }
        for (number, container) in containers.enumerated() {
            let isReady = await eventually { await get(container.port, "/readyz") != nil }
            #expect(isReady, "\(names[number]): \(log("\(number)", folder))")
        }
        func isShared() async -> Bool {
            for (number, container) in containers.enumerated() where names[number] != "dashboard" {
                let metrics = await get(container.port, "/metrics")
                guard metrics?.contains("\npacebus_shards_owned \(number < 4 ? 64 : 256)\n") == true else {
                    return false
                }
            }
            return true
        }
        #expect(await eventually { await isShared() })
        // No service has used its volume.
        for name in ["metrics-aggregator", "session-engine"] {
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("volumes/\(name)")) == [])
        }
        postgres.end(SIGKILL)
        postgres = try run("postgres", file, in: folder)
        #expect(try await eventually { try await isReady(postgres, folder) }, "\(log("postgres", folder))")
        #expect(await eventually { await isShared() })
        while let (process, _) = containers.popLast() { process.end(SIGTERM) }
        postgres.end(SIGINT)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a process folders of its own"))
    func `without the profile a container uses SQLite in its volume, and it never changes to the other kind`()
        async throws
    {
        let compose = try ComposeFolder()
        let folder = compose.folder
        try await compose.needAccounts()
        let (file, _) = try await model(folder)
        let port = try LoopbackSocket.freePort()
        let settings = ["HTTP_PORT=\(port)", "MQTT_URL=mqtt://_route-builder@127.0.0.1:1"]
        let store = folder.file("volumes/route-builder/route-builder.sqlite")
        let service = try run("route-builder", file, in: folder, settings: settings)
        let isRunning = await eventually { await get(port, "/livez") != nil }
        #expect(isRunning && FileManager.default.fileExists(atPath: store), "\(log("route-builder", folder))")
        service.end(SIGTERM)
        // As the container of PostgreSQL does first.
        try folder.write("", to: "volumes/postgres-socket/pacebus")
        #expect(await (try run("route-builder", file, in: folder, settings: settings)).finish() == 1)
        #expect(log("route-builder", folder).contains("no command moves it to PostgreSQL"))
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + suffix) }
        // PostgreSQL is not running, as without the profile: the service ends, and creates no second, empty store.
        #expect(await (try run("route-builder", file, in: folder, settings: settings)).finish() == 1)
        #expect(log("route-builder", folder).contains("postgres://route-builder@/pacebus?host=/run/postgresql"))
        #expect(!FileManager.default.fileExists(atPath: store))
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can give a process folders of its own"),
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"), "sqlite3 is not installed"))
    func `a backup of the volumes replaces a damaged store, after the containers have stopped`() async throws {
        let compose = try ComposeFolder()
        let folder = compose.folder
        try await compose.needAccounts()
        let backups = folder.file("data/backups")
        try FileManager.default.createDirectory(atPath: backups, withIntermediateDirectories: true)
        try await ChildProcess.run(
            ["chown", "-R", "\(Self.user):\(Self.user)", folder.file("data")], log: folder.file("chown.log"))
        let (file, _) = try await model(folder, profile: "backup")
        func backup(_ arguments: String...) async throws -> Int32 {
            await (try run("backup", file, in: folder, settings: arguments)).finish()
        }
        let port = try LoopbackSocket.freePort()
        let settings = ["HTTP_PORT=\(port)", "MQTT_URL=mqtt://_route-builder@127.0.0.1:1"]
        let service = try run("route-builder", file, in: folder, settings: settings)
        let isRunning = await eventually { await get(port, "/livez") != nil }
        #expect(isRunning, "\(log("route-builder", folder))")
        #expect(try await backup() == 0, "\(log("backup", folder))")
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: backups).first)
        #expect(try await backup("--restore", "--force", name) == 1)
        #expect(log("backup", folder).contains("route-builder is running"))
        service.end(SIGTERM)
        _ = await service.finish()

        let store = folder.file("volumes/route-builder/route-builder.sqlite")
        try Data("damaged".utf8).write(to: URL(filePath: store))
        #expect(try await backup("--restore", name) == 1)
        #expect(log("backup", folder).contains("--force moves it aside"))
        #expect(try await backup("--restore", "--force", name) == 0, "\(log("backup", folder))")
        #expect(try Data(contentsOf: URL(filePath: store)).starts(with: Data("SQLite format 3".utf8)))
        // The service takes the store, and the accounts are there.
        let again = try run("route-builder", file, in: folder, settings: settings)
        let isRunningAgain = await eventually { await get(port, "/livez") != nil }
        #expect(isRunningAgain, "\(log("route-builder", folder))")
        again.end(SIGTERM)
        let accounts = try String(contentsOfFile: folder.file("data/broker/passwords"), encoding: .utf8)
        #expect(accounts.contains("_route-builder:"))
    }
}
