import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// Today's programs on the stores of each release: `releases/VERSION` has them as SQL, and what `pacebus` of that release said of
/// them. compose/releases.md says when to add a folder.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"), "sqlite3 is not installed"))
struct ReleaseTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "releases")
    private static let releases = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    private static let written = ProcessInfo.processInfo.environment["RELEASE"]

    private let user = User("demo")!
    private let session = SessionID(UUID(uuidString: "11111111-1111-4111-8111-111111111111")!)

    @Test func `there is a release to read`() {
        #expect(!Self.releases.isEmpty)
    }

    @Test(arguments: releases)
    func `the stores of a release are read, and another workout follows`(version: String) async throws {
        let stores = try TemporaryFolder()
        let release = Self.folder.appending(path: version)
        for service in Installation.Service.allCases {
            let sql = release.appending(path: "\(service.rawValue).sql").path
            _ = try await ChildProcess.output(of: [
                "sqlite3", stores.file("\(service.rawValue).sqlite"), ".read \(sql)",
            ])
        }
        let installation = try await Installation(stores: stores.path, services: Installation.Service.allCases)
        for (name, arguments) in questions {
            let answer = try await ask(installation, arguments)
            let expected = try String(contentsOf: release.appending(path: name), encoding: .utf8)
            #expect(answer == expected, "\(name)")
        }
        let key = SessionKey(user, SessionID(UUID()))
        try await play(key, start: 1_700_100_000, in: installation)
        let history = try await ask(installation, ["history"])
        #expect(history.contains("\(session)") && history.contains("\(key.session)"))
        for service in Installation.Service.allCases {
            let log = try String(contentsOfFile: installation.log(service), encoding: .utf8)
            #expect(!log.contains("corrupt"), "\(service): \(log)")
        }
    }

    @Test(.enabled(if: written != nil, "writes the folder of a new release, only with RELEASE=VERSION"))
    func `the stores of a release are written`() async throws {
        let installation = try await Installation(services: Installation.Service.allCases)
        try await play(SessionKey(user, session), start: 1_700_000_000, in: installation)
        _ = try await ask(installation, ["invite", "ben", "--distance", "5000"])
        try await registerPhone(in: installation)
        let release = Self.folder.appending(path: try #require(Self.written))
        try FileManager.default.createDirectory(at: release, withIntermediateDirectories: true)
        for (name, arguments) in questions {
            let answer = try await ask(installation, arguments)
            try Data(answer.utf8).write(to: release.appending(path: name))
        }
        installation.killServices()
        for service in Installation.Service.allCases {
            let store = installation.folder.file("\(service.rawValue).sqlite")
            let sql = try await ChildProcess.output(of: ["sqlite3", store, ".dump"])
            try sql.write(to: release.appending(path: "\(service.rawValue).sql"))
        }
    }

    /// By the file with the answer.
    private var questions: [(String, [String])] {
        [
            ("history.txt", ["history"]), ("workout.csv", ["export", "\(session)", "--format", "csv", "-o", "-"]),
            ("workout.gpx", ["export", "\(session)", "--format", "gpx", "-o", "-"]),
        ]
    }

    /// Registers a phone for notifications, which a user withdraws years later.
    private func registerPhone(in installation: Installation) async throws {
        let client = Client("phone-1")!
        let registration = NotificationRegistration(
            id: CommandID(UUID()), client: client, device: Device("phone-1")!,
            action: .register(token: String(repeating: "a1", count: 32), environment: .sandbox))
        try await BusObserver.run(port: installation.broker.port) { observer in
            await observer.publish(
                Topic.user(user, .notificationsRegister).message(JSONCoding.encode(registration)))
            _ = try await observer.wait(for: Topic.user(user, .replies(client)).name)
        }
    }

    /// Plays a recording of a minute with samples and a route.
    private func play(_ key: SessionKey, start: Int, in installation: Installation) async throws {
        let recording = installation.folder.file("recording.fit")
        try Data(FITFixture.workout(start: start, duration: 60, pauses: [20...25])).write(to: URL(filePath: recording))
        try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try installation.replay(recording, key)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            _ = try await observer.exported(key)
        }
    }

    /// Runs `pacebus` and returns what it prints.
    private func ask(_ installation: Installation, _ arguments: [String]) async throws -> String {
        let url = "mqtt://\(user)@127.0.0.1:\(installation.broker.port)"
        let output = try await ChildProcess.output(
            of: ["env", "TZ=UTC", Installation.executable("pacebus")] + arguments + ["--mqtt-url", url])
        return String(decoding: output, as: UTF8.self)
    }
}
