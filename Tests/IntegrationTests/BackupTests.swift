import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@Suite(.serialized, .timeLimit(.minutes(3)))
struct BackupTests {
    private static let recording = FITFixture.workout(
        start: 1_700_000_000, duration: 1_200, pauses: [300...400])
    /// A record each second, both ends of each segment included.
    private static let items = 301 + 801

    /// Runs the services on a folder's stores; they are killed in the end, and so is the broker, which keeps nothing.
    private func whileRunning(_ compose: ComposeFolder, _ body: (BusObserver, UInt16) async throws -> Void) async throws
    {
        let broker = try await Mosquitto()
        defer { broker.kill() }
        let services = try Installation.Service.allCases.map { service in
            let store = compose.folder.file("data/\(service.rawValue).sqlite")
            return try Installation.run(
                service.rawValue, ["--mqtt-url", "mqtt://127.0.0.1:\(broker.port)", "--store-url", "sqlite:\(store)"],
                log: compose.folder.file("\(service.rawValue).log"))
        }
        defer { for service in services { service.end(SIGKILL) } }
        try await BusObserver.run(port: broker.port) { try await body($0, broker.port) }
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

    @Test func `a finished workout and a live session go on from a backup in another folder`() async throws {
        let folder = try TemporaryFolder()
        let user = try #require(User("demo"))
        let (finished, live) = (SessionKey(user, SessionID(UUID())), SessionKey(user, SessionID(UUID())))
        let first = try ComposeFolder()
        _ = try first.addAccount("demo")
        let backup = folder.file("backup.tar.gz")
        var before: [String] = []
        try await whileRunning(first) { observer, port in
            #expect(try replay(finished, folder, port: port, speedUp: 0).finish() == 0)
            before = try await Results(finished, device: "watch-1", items: Self.items, from: observer).comparable
            let device = try replay(live, folder, port: port, speedUp: 100)
            _ = try await observer.wait(for: Topic.session(live, .metrics).name) { payload in
                (try? JSONCoding.decode(MetricsSnapshot.self, from: payload))?.count ?? 0 >= 400
            }
            device.end(SIGKILL)
            try first.run("backup", backup)
        }
        let permissions = try FileManager.default.attributesOfItem(atPath: backup)[.posixPermissions] as? Int
        #expect(permissions == 0o600)

        let second = try ComposeFolder()
        try second.run("restore", backup)
        #expect(try second.run("user", "list") == "demo\n")
        try await whileRunning(second) { observer, port in
            let after = try await Results(finished, device: "watch-1", items: Self.items, from: observer).comparable
            #expect(after == before)
            _ = try await observer.wait(for: Topic.session(live, .state).name) { payload in
                (try? JSONCoding.decode(SessionState.self, from: payload))?.status == .active
            }
            #expect(try replay(live, folder, port: port, speedUp: 0).finish() == 0)
            _ = try await Results(live, device: "watch-1", items: Self.items, from: observer)
        }
    }

    @Test func `what is there is neither restored over unasked nor lost when asked`() async throws {
        let compose = try ComposeFolder()
        _ = try compose.addAccount("before")
        let backup = compose.folder.file("backup.tar.gz")
        try compose.run("backup", backup)
        _ = try compose.addAccount("after")
        #expect(throws: ChildProcess.Failure.self) { try compose.run("restore", backup) }
        #expect(try compose.run("user", "list") == "after\nbefore\n")
        try compose.run("restore", "--force", backup)
        #expect(try compose.run("user", "list") == "before\n")
        let kept = try FileManager.default.contentsOfDirectory(atPath: compose.folder.file("data"))
            .filter { $0.hasPrefix("before-") }
        #expect(kept.count == 1)
        let passwords = compose.folder.file("data/\(kept[0])/broker/passwords")
        #expect(try String(contentsOfFile: passwords, encoding: .utf8).contains("\nafter:"))
    }

    @Test func `a damaged backup changes nothing, nor does one that comes while the system runs`() async throws {
        let compose = try ComposeFolder()
        _ = try compose.addAccount("demo")
        let backup = compose.folder.file("backup.tar.gz")
        try compose.run("backup", backup)
        let bytes = try Data(contentsOf: URL(filePath: backup))
        let damaged = compose.folder.file("damaged.tar.gz")
        try bytes.prefix(bytes.count / 2).write(to: URL(filePath: damaged))
        #expect(throws: ChildProcess.Failure.self) { try compose.run("restore", "--force", damaged) }
        #expect(try compose.run("user", "list") == "demo\n")

        let (lock, sign) = (compose.folder.file("data/up.lock"), compose.folder.file("locked"))
        let up = try ChildProcess(
            ["bash", "-c", "exec 9>>\(lock); flock 9; : >\(sign); exec sleep 60"], log: compose.folder.file("up.log"))
        defer { up.end(SIGKILL) }
        try #require(await eventually { FileManager.default.fileExists(atPath: sign) })
        #expect(throws: ChildProcess.Failure.self) { try compose.run("restore", "--force", backup) }
        #expect(try compose.run("user", "list") == "demo\n")
        let left = try FileManager.default.contentsOfDirectory(atPath: compose.folder.file("data"))
        #expect(!left.contains { $0.hasPrefix("before-") || $0.hasPrefix("restoring.") }, "\(left)")
    }
}
