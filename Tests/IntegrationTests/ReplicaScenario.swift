import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// Anna and Ben run together, while Cleo's watch replays a recording.
struct ReplicaScenario {
    static let people = ["anna", "ben", "cleo"]
    private static let runners = ["anna", "ben"]
    private static let recording = FITFixture.workout(start: 1_700_000_000, duration: 600, pauses: [200...250])
    /// A record each second, both ends of each segment included.
    private static let items = 201 + 351

    private let system: ComposeSystem
    private let observer: BusObserver
    private let passwords: [String: Secret]

    init(_ system: ComposeSystem, _ observer: BusObserver, _ passwords: [String: Secret]) {
        (self.system, self.observer, self.passwords) = (system, observer, passwords)
    }

    /// Everything under way.
    struct Play {
        let run: RunID
        /// Cleo's session.
        let watched: SessionKey
        fileprivate let devices: [(process: ChildProcess, log: String)]
        /// By reader and partner.
        fileprivate let earlierCues: [String: Int]
    }

    /// What must not depend on faults.
    struct Outcome: Equatable {
        /// The rows of the run's results.
        let rows: String
        /// Cleo's, see ``Results/comparable``.
        let results: [String]
        /// Of each person.
        let files: [ExportedFiles]
        /// How often each finish was announced, by reader and partner.
        let finishCues: [String: Int]
    }

    // MARK: Devices

    /// Starts an executable with a person's account.
    private func start(
        _ program: String, _ arguments: [String], as name: String
    ) throws -> (process: ChildProcess, log: String) {
        let password = try #require(passwords[name])
        let file = try system.compose.folder.write(password.value, to: "\(name).password")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let log = system.compose.folder.file("\(UUID().uuidString).log")
        let process = try Installation.run(
            program, arguments + ["--mqtt-url", "mqtt://\(name)@127.0.0.1:\(try system.port)"],
            environment: ["MQTT_PASSWORD_FILE=\(file)"], log: log)
        return (process, log)
    }

    private func text(_ log: String) -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// Creates a run for Anna, and invites Ben.
    private func invite() async throws -> RunID {
        let (process, log) = try start("pacebus", ["invite", "ben", "--distance", "200"], as: "anna")
        #expect(await process.finish() == 0, "\(text(log))")
        let prefix = "invite: done, run "
        let line = text(log).split(separator: "\n").first { $0.hasPrefix(prefix) }
        return try #require(line.flatMap { RunID(String($0.dropFirst(prefix.count))) }, "\(text(log))")
    }

    /// Starts everything. The steps are the same in each play.
    func play(speedUp: (runners: Int, watch: Int)) async throws -> Play {
        let earlierCues = observer.finishCues
        let run = try await invite()
        var devices = try Self.runners.enumerated().map { number, name in
            try start(
                "device",
                [
                    "simulate", "--virtual-run", "\(run)", "--accept", "--device", "watch-1", "--seed", "\(7 + number)",
                    "--speed-up", "\(speedUp.runners)", "--queue-folder", system.compose.folder.file("queue-\(name)"),
                ], as: name)
        }
        let key = SessionKey(try #require(User("cleo")), SessionID(UUID()))
        let watch = try system.replay(
            Self.recording, key, password: try #require(passwords["cleo"]), speedUp: speedUp.watch)
        devices.append((watch, system.compose.folder.file("device.log")))
        return Play(run: run, watched: key, devices: devices, earlierCues: earlierCues)
    }

    /// Waits until both runners see each other move.
    func expectPartners(in play: Play) async throws {
        for name in Self.runners {
            _ = try await observer.wait(for: Topic.user(User(name)!, .partners(play.run)).name) { payload in
                (try? JSONCoding.decode(Partners.self, from: payload))?.rows.first?.distance ?? 0 > 0
            }
        }
    }

    /// Waits until some more of Cleo's items are stored, or all are.
    func advance(_ play: Play, by items: Int) async throws {
        var first: Int?
        _ = try await observer.wait(for: Topic.session(play.watched, .metrics).name) { payload in
            guard let count = (try? JSONCoding.decode(MetricsSnapshot.self, from: payload))?.count else { return false }
            first = first ?? count
            return count >= min((first ?? 0) + items, Self.items)
        }
    }

    // MARK: Outcomes

    /// Waits for the end of everything.
    func outcome(of play: Play) async throws -> Outcome {
        for (device, log) in play.devices { #expect(await device.finish() == 0, "\(text(log))") }
        let views = try await Self.runners.asyncMap { try await view(of: play.run, for: try #require(User($0))) }
        let rows = try views.map { view in
            String(decoding: JSONCoding.encode(try #require(view.results).rows), as: UTF8.self)
        }
        #expect(rows[0] == rows[1])
        var sessions = try views.map { SessionKey($0.user, try #require($0.own?.session)) }
        sessions.append(play.watched)
        let results = try await Results.comparable(play.watched, items: Self.items, from: observer)
        let files = try await sessions.asyncMap { key in
            let paths = try await exported(key)
            return try ExportedFiles(
                key, play.run, in: system.compose.folder.file("data/exports"), paths: paths,
                isRecorded: key == play.watched)
        }
        return Outcome(
            rows: rows[0], results: results, files: files,
            finishCues: observer.finishCues.merging(play.earlierCues) { $0 - $1 })
    }

    /// Waits for a runner's view of the final results.
    private func view(of run: RunID, for user: User) async throws -> VirtualRunView {
        let payload = try await observer.wait(for: Topic.user(user, .virtualRun(run)).name) { payload in
            let results = (try? JSONCoding.decode(VirtualRunView.self, from: payload))?.results
            return results != nil && results?.provisional != true
        }
        return try JSONCoding.decode(VirtualRunView.self, from: payload)
    }

    /// Waits until the final workout is exported, and returns the paths of its files.
    private func exported(_ key: SessionKey) async throws -> [String] {
        let topic = Topic.session(key, .export(try #require(Target("folder"))))
        let payload = try await observer.wait(for: topic.name) { payload in
            guard let status = try? JSONCoding.decode(ExportStatus.self, from: payload),
                let record = observer.latest(Topic.session(key, .workout).name),
                let workout = try? JSONCoding.decode(WorkoutRecord.self, from: record)
            else { return false }
            return status.status == .done && status.workout == workout.revision && workout.incomplete != true
        }
        let paths = try JSONCoding.decode(ExportStatus.self, from: payload).files ?? []
        #expect(paths.count == 5)
        return paths
    }
}

extension Array where Element: Sendable {
    fileprivate func asyncMap<R>(_ transform: (Element) async throws -> R) async rethrows -> [R] {
        var results: [R] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
