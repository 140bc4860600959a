import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@Suite(.serialized, .timeLimit(.minutes(60)))
struct BackupTests {
    private static let recording = FITFixture.workout(
        start: 1_700_000_000, duration: 1_200, pauses: [300...400])
    /// A record each second, both ends of each segment included.
    private static let items = 301 + 801

    /// Runs a broker and the services on a folder's stores, and kills them at the end. The broker stores nothing.
    private func whileRunning<R: Sendable>(
        _ compose: ComposeFolder, on broker: Mosquitto, _ body: (BusObserver) async throws -> R
    ) async throws -> R {
        try await broker.start()
        defer { broker.kill() }
        let services = try Installation.workoutServices.map { service in
            let store = compose.folder.file("data/\(service.rawValue).sqlite")
            var settings = ["--mqtt-url", "mqtt://127.0.0.1:\(broker.port)", "--store-url", "sqlite:\(store)"]
            if service == .exporter { settings += ["--export-folder", compose.folder.file("data/exports")] }
            return try Installation.run(
                service.rawValue, settings,
                log: compose.folder.file("\(service.rawValue).log"))
        }
        defer { for service in services { service.end(SIGKILL) } }
        return try await BusObserver.run(port: broker.port, body)
    }

    private func replay(_ key: SessionKey, _ folder: TemporaryFolder, port: UInt16, speedUp: Int) throws -> ChildProcess
    {
        let file = folder.file("recording.fit")
        try Data(Self.recording).write(to: URL(filePath: file))
        return try Installation.run(
            "device",
            [
                "replay", file, "--user", "\(key.user)", "--session", "\(key.session)", "--device", "watch-1",
                "--speed-up", "\(speedUp)", "--queue-folder", folder.file("queue"), "--mqtt-url",
                "mqtt://127.0.0.1:\(port)",
            ], log: folder.file("device.log"))
    }

    @Test func `a finished workout and a live session continue from a backup in another folder`() async throws {
        let folder = try TemporaryFolder()
        let broker = try await stoppedBroker()
        let user = try #require(User("demo"))
        let (finished, live) = (SessionKey(user, SessionID(UUID())), SessionKey(user, SessionID(UUID())))
        let first = try ComposeFolder()
        _ = try await first.addAccount("demo")
        let backup = folder.file("backup.tar.gz")
        var before: [String] = []
        try await whileRunning(first, on: broker) { observer in
            #expect(try await replay(finished, folder, port: broker.port, speedUp: 0).finish() == 0)
            before = try await Results(finished, device: "watch-1", items: Self.items, from: observer).comparable
            let device = try replay(live, folder, port: broker.port, speedUp: 100)
            try await wait(for: 400, of: live, observer)
            device.end(SIGKILL)
            try await first.run("backup", backup)
        }
        let permissions = try FileManager.default.attributesOfItem(atPath: backup)[.posixPermissions] as? Int
        #expect(permissions == 0o600)

        let second = try ComposeFolder()
        try await second.run("restore", backup)
        #expect(try await second.run("user", "list") == "demo\n")
        try await whileRunning(second, on: broker) { observer in
            let after = try await Results(finished, device: "watch-1", items: Self.items, from: observer).comparable
            #expect(after == before)
            _ = try await observer.wait(for: Topic.session(live, .state).name) { payload in
                (try? JSONCoding.decode(SessionState.self, from: payload))?.status == .active
            }
            #expect(try await replay(live, folder, port: broker.port, speedUp: 0).finish() == 0)
            _ = try await Results(live, device: "watch-1", items: Self.items, from: observer)
        }
    }

    @Test func `a device sends the items that a restored store lacks again`() async throws {
        let folder = try TemporaryFolder()
        let broker = try await stoppedBroker()
        let user = try #require(User("demo"))
        let (calm, live) = (SessionKey(user, SessionID(UUID())), SessionKey(user, SessionID(UUID())))
        let (first, second) = (try ComposeFolder(), try ComposeFolder())
        _ = try await first.addAccount("demo")
        let backup = folder.file("backup.tar.gz")

        let (expected, device) = try await whileRunning(first, on: broker) { observer in
            #expect(try await replay(calm, folder, port: broker.port, speedUp: 0).finish() == 0)
            let expected = try await Results(calm, device: "watch-1", items: Self.items, from: observer)
            let device = try replay(live, folder, port: broker.port, speedUp: 60)
            // The clock runs again after the pause.
            _ = try await observer.wait(for: Topic.session(live, .state).name) { payload in
                (try? JSONCoding.decode(SessionState.self, from: payload))?.segments.count == 2
            }
            try await wait(for: 320, of: live, observer)
            try await first.run("backup", backup)
            try await wait(for: 500, of: live, observer)
            return (expected, device)
        }
        try await second.run("restore", backup)
        try await whileRunning(second, on: broker) { observer in
            #expect(await device.finish() == 0, "\(log(folder))")
            let results = try await Results(live, device: "watch-1", items: Self.items, from: observer)
            #expect(results.summary.totals == expected.summary.totals)
            #expect(results.workout.segments == expected.workout.segments)
            #expect(results.workout.next == expected.workout.next)
        }
        #expect(log(folder).contains("the server has lost samples from number"))
        #expect(log(folder).contains("the server has lost locations from number"))
    }

    private func stoppedBroker() async throws -> Mosquitto {
        let broker = try await Mosquitto()
        broker.stop()
        return broker
    }

    private func wait(for count: Int, of key: SessionKey, _ observer: BusObserver) async throws {
        _ = try await observer.wait(for: Topic.session(key, .metrics).name) { payload in
            (try? JSONCoding.decode(MetricsSnapshot.self, from: payload))?.count ?? 0 >= count
        }
    }

    private func log(_ folder: TemporaryFolder) -> String {
        (try? String(contentsOfFile: folder.file("device.log"), encoding: .utf8)) ?? ""
    }

    @Test func `restore overwrites existing data only with --force, and keeps a copy`() async throws {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("before")
        let backup = compose.folder.file("backup.tar.gz")
        try await compose.run("backup", backup)
        _ = try await compose.addAccount("after")
        await #expect(throws: ChildProcess.Failure.self) { try await compose.run("restore", backup) }
        #expect(try await compose.run("user", "list") == "after\nbefore\n")
        try await compose.run("restore", "--force", backup)
        #expect(try await compose.run("user", "list") == "before\n")
        let kept = try FileManager.default.contentsOfDirectory(atPath: compose.folder.file("data"))
            .filter { $0.hasPrefix("before-") }
        #expect(kept.count == 1)
        let passwords = compose.folder.file("data/\(kept[0])/broker/passwords")
        #expect(try String(contentsOfFile: passwords, encoding: .utf8).contains("\nafter:"))
    }

    @Test func `a damaged backup, or one during operation, changes nothing`() async throws {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("demo")
        let backup = compose.folder.file("backup.tar.gz")
        try await compose.run("backup", backup)
        let bytes = try Data(contentsOf: URL(filePath: backup))
        let damaged = compose.folder.file("damaged.tar.gz")
        try bytes.prefix(bytes.count / 2).write(to: URL(filePath: damaged))
        await #expect(throws: ChildProcess.Failure.self) { try await compose.run("restore", "--force", damaged) }
        #expect(try await compose.run("user", "list") == "demo\n")

        let (lock, sign) = (compose.folder.file("data/up.lock"), compose.folder.file("locked"))
        let up = try ChildProcess(
            ["bash", "-c", "exec 9>>\(lock); flock 9; : >\(sign); exec sleep 60"], log: compose.folder.file("up.log"))
        defer { up.end(SIGKILL) }
        try #require(await eventually { FileManager.default.fileExists(atPath: sign) })
        await #expect(throws: ChildProcess.Failure.self) { try await compose.run("restore", "--force", backup) }
        #expect(try await compose.run("user", "list") == "demo\n")
        let left = try FileManager.default.contentsOfDirectory(atPath: compose.folder.file("data"))
        #expect(!left.contains { $0.hasPrefix("before-") || $0.hasPrefix("restoring.") }, "\(left)")
    }
}
