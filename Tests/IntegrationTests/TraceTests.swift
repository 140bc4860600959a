import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// An operator asks what happened to a workout.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct TraceTests {
    private struct Story: Decodable {
        struct Event: Decodable {
            let at: Double
            let service: String
            let text: String
            let details: [String: String]
        }

        struct Stream: Decodable {
            let name: String
            let announced: Int?
            let summarized: Int?
        }

        struct Export: Decodable {
            let target: String
            let status: String
        }

        let user: String
        let status: String
        let events: [Event]
        let streams: [Stream]
        let exports: [Export]
    }

    @Test func `pacebus trace tells the story of a workout from stores and logs, in order`() async throws {
        let installation = try await Installation()
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let recording = installation.folder.file("recording.fit")
        try Data(FITFixture.workout(start: 1_700_000_000, duration: 60)).write(to: URL(filePath: recording))
        try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try installation.replay(recording, key)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            // A finished workout cannot be paused.
            let refused = try installation.pacebus(
                ["pause", "--user", "demo", "--session", "\(key.session)"], log: installation.folder.file("pause.log"))
            #expect(await refused.finish() == 1)
            _ = try await observer.exported(key)
        }
        let logs = Installation.workoutServices.flatMap { ["--log", installation.log($0)] }
        let arguments = ["trace", "\(key.session)", "--data", installation.folder.path] + logs
        let text = try await Self.output(arguments, installation.folder.file("trace.txt"))
        #expect(text.contains("\(key.session) of demo completed"))
        let story = try JSONDecoder().decode(
            Story.self,
            from: Data(try await Self.output(arguments + ["--json"], installation.folder.file("trace.json")).utf8))
        #expect(story.user == "demo" && story.status == "completed")
        #expect(story.events.map(\.at) == story.events.map(\.at).sorted())
        let commands = story.events.filter { $0.text.hasPrefix("command ") }
        #expect(commands.map { $0.details["action"] } == ["start", "end", "pause"])
        #expect(commands.last?.text == "command refused" && commands.last?.details["reason"] == "invalid_state")
        let changes = story.events.filter { $0.text == "session changed" }.compactMap { $0.details["status"] }
        #expect(changes.last == "completed")
        #expect(Set(story.events.map(\.service)) == Set(Installation.workoutServices.map(\.rawValue)))
        for stream in story.streams { #expect(stream.announced == stream.summarized, "\(stream.name)") }
        #expect(story.streams.count == 2)
        #expect(story.exports.contains { $0.target == "folder" && $0.status == "done" })
        let list = try await Self.output(
            ["trace", "--user", "demo", "--data", installation.folder.path], installation.folder.file("list.txt"))
        #expect(list.contains("  \(key.session)  completed"), "\(list)")
    }

    @Test func `an unknown session is an error that says what to check`() async throws {
        let folder = try TemporaryFolder()
        let log = folder.file("trace.log")
        let trace = try Installation.run("pacebus", ["trace", UUID().uuidString, "--data", folder.path], log: log)
        #expect(await trace.finish() != 0)
        #expect(try String(contentsOfFile: log, encoding: .utf8).contains("is in no store and no log"))
    }

    @Test func `a password file that others can read is refused, and an URL that is none`() async throws {
        let folder = try TemporaryFolder()
        let password = try folder.write("word\n", to: "password")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: password)
        for (url, reason) in [
            ("postgres://backup@127.0.0.1:1/pacebus", "STORE_PASSWORD_FILE: other accounts have access to"),
            ("http://127.0.0.1", "--store-url: "),
        ] {
            let log = folder.file("trace.log")
            try? FileManager.default.removeItem(atPath: log)
            let trace = try Installation.run(
                "pacebus", ["trace", UUID().uuidString, "--data", folder.path, "--store-url", url],
                environment: url.hasPrefix("http") ? [] : ["STORE_PASSWORD_FILE=\(password)"], log: log)
            #expect(await trace.finish() != 0)
            let text = try String(contentsOfFile: log, encoding: .utf8)
            #expect(text.contains(reason), "\(text)")
        }
    }

    private static func output(_ arguments: [String], _ log: String) async throws -> String {
        let trace = try Installation.run("pacebus", arguments, log: log)
        let isTold = await trace.finish() == 0
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(isTold, "\(text)")
        return text
    }
}
