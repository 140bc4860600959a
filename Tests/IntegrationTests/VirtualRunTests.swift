import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// Virtual runs of real processes: broker, services, `pacebus` and `device`.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct VirtualRunTests {
    private let ann: User
    private let ben: User

    init() throws {
        ann = try #require(User("ann"))
        ben = try #require(User("ben"))
    }

    /// Runs `pacebus` as a user to its end and returns its output.
    private func pacebus(_ installation: Installation, _ user: User, _ arguments: String...) async throws -> String {
        let log = installation.folder.file("\(UUID().uuidString).log")
        let process = try installation.pacebus(arguments + ["--user", "\(user)"], log: log)
        let status = await process.finish()
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(status == 0, "\(arguments): \(text)")
        return text
    }

    /// The run that `invite` printed, below a line of progress if it waited.
    private func created(_ text: String) -> RunID? {
        let done = "invite: done, run "
        return text.split(separator: "\n").first { $0.hasPrefix(done) }.flatMap {
            RunID(String($0.dropFirst(done.count)))
        }
    }

    private func device(_ installation: Installation, _ user: User, _ run: RunID, _ options: String...) throws
        -> ChildProcess
    {
        try Installation.run(
            "device",
            [
                "simulate", "--virtual-run", "\(run)", "--user", "\(user)", "--device", "watch-1", "--seed", "7",
                "--speed-up", "10", "--queue-folder", installation.folder.file("queue"), "--mqtt-url",
                "mqtt://127.0.0.1:\(installation.broker.port)",
            ] + options, log: installation.folder.file("\(user).log"))
    }

    private func text(_ installation: Installation, _ name: String) -> String {
        (try? String(contentsOfFile: installation.folder.file(name), encoding: .utf8)) ?? ""
    }

    private func view(
        _ observer: BusObserver, _ user: User, _ run: RunID, where condition: (VirtualRunView) -> Bool
    ) async throws -> VirtualRunView {
        let payload = try await observer.wait(for: Topic.user(user, .virtualRun(run)).name) { payload in
            (try? JSONCoding.decode(VirtualRunView.self, from: payload)).map(condition) ?? false
        }
        return try JSONCoding.decode(VirtualRunView.self, from: payload)
    }

    @Test func `two people run together and get the same results`() async throws {
        let installation = try await Installation(services: Installation.runServices)
        try await BusObserver.run(port: installation.broker.port) { observer in
            let invited = try await pacebus(installation, ann, "invite", "ben", "--distance", "500")
            let run = try #require(created(invited), "\(invited)")
            let follower = try installation.pacebus(
                ["run", "--follow", "--user", "ann"], log: installation.folder.file("follow.log"))
            defer { follower.end(SIGKILL) }
            let devices = [try device(installation, ann, run), try device(installation, ben, run, "--accept")]
            for device in devices {
                #expect(
                    await device.finish() == 0, "\(text(installation, "ann.log")) \(text(installation, "ben.log"))")
            }
            let views = try await [ann, ben].asyncMap { user in
                try await view(observer, user, run) { $0.results != nil && $0.results?.provisional != true }
            }
            #expect(views[0].results == views[1].results)
            let rows = try #require(views[0].results?.rows)
            // The same seed: they finish together.
            #expect(rows.map(\.status) == [.finished, .finished] && rows.map(\.place) == [1, 1], "\(rows)")
            #expect(rows.allSatisfy { ($0.distance ?? 0) >= 500 && $0.time == rows[0].time })
            #expect(await follower.finish() == 0)
            let lines = text(installation, "follow.log")
            #expect(lines.contains("results\n   1. ") && lines.contains("running, 500 m, host ann"), "\(lines)")
            #expect(text(installation, "ben.log").contains("ann level · "), "\(text(installation, "ben.log"))")
        }
    }

    @Test func `a run's HealthKit hand-over holds heart rate, energy, distance, workout and route`() async throws {
        let installation = try await Installation(
            services: Installation.runServices)
        try await BusObserver.run(port: installation.broker.port) { observer in
            let invited = try await pacebus(installation, ann, "invite", "--pace", "5:30", "--distance", "300")
            let run = try #require(created(invited), "\(invited)")
            let runner = try device(installation, ann, run)
            #expect(await runner.finish() == 0, "\(text(installation, "ann.log"))")
            let view = try await view(observer, ann, run) { $0.results != nil && $0.results?.provisional != true }
            let key = SessionKey(ann, try #require(view.own?.session))
            let payload = try await observer.wait(
                for: Topic.session(key, .export(try #require(Target("healthkit")))).name
            ) { payload in
                (try? JSONCoding.decode(ExportStatus.self, from: payload))?.healthKit != nil
            }
            let workout = try #require(try JSONCoding.decode(ExportStatus.self, from: payload).healthKit)
            let sums = Dictionary(
                workout.quantities.map { ("\($0.identifier) \($0.statistic.rawValue)", $0.value) }
            ) { first, _ in first }
            #expect(workout.activityType == 37 && workout.locationType == .outdoor)
            #expect(try #require(sums["HKQuantityTypeIdentifierDistanceWalkingRunning sum"]) >= 300)
            #expect(try #require(sums["HKQuantityTypeIdentifierActiveEnergyBurned sum"]) > 0)
            #expect(try #require(sums["HKQuantityTypeIdentifierHeartRate average"]) > 90)
            #expect(workout.seriesRevision != nil && workout.routeRevision != nil)
            #expect(workout.startDate == view.startsAt && workout.duration > 60)
        }
    }
}

extension Array where Element: Sendable {
    fileprivate func asyncMap<R>(_ transform: (Element) async throws -> R) async rethrows -> [R] {
        var results: [R] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
