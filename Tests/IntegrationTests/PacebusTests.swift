import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// A planned workout that `pacebus` controls while its clock runs.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct PacebusTests {
    private static let plan = """
        {
          "name": "Short",
          "focus": ["conditioning"],
          "sections": [
            {
              "timer": {"type": "interval", "work": 1, "rest": 1, "rounds": 2},
              "items": [{"id": "jump", "name": "Jump"}]
            },
            {
              "items": [
                {
                  "id": "squat", "name": "Squat", "exercise": "squat", "sets": [{"repetitions": 5, "weight": 80}, {"repetitions": 5}],
                  "alternatives": [{"name": "Lunge", "exercise": "lunge"}]
                }
              ]
            }
          ]
        }
        """

    @Test func `a session continues over a killed engine to its workout, and followers show clock and progress`()
        async throws
    {
        let installation = try await Installation()
        let user = try #require(User("demo"))
        let key = SessionKey(user, SessionID(UUID()))
        let file = installation.folder.file("plan.json")
        try Data(Self.plan.utf8).write(to: URL(filePath: file))
        let log = installation.folder.file("follow.log")
        func text() -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
        let follower = try installation.pacebus(
            [
                "start", "--user", "demo", "--session", "\(key.session)", "--plan", file, "--countdown", "1",
                "--follow",
            ], log: log)
        defer { follower.end(SIGKILL) }
        func control(_ arguments: String...) async throws -> String {
            let log = installation.folder.file("control.log")
            try? FileManager.default.removeItem(atPath: log)
            let process = try installation.pacebus(arguments + ["--user", "demo"], log: log)
            let written = await process.finish() == 0
            let text = try String(contentsOfFile: log, encoding: .utf8)
            #expect(written, "\(arguments): \(text)")
            return text
        }
        let workout = try await BusObserver.run(port: installation.broker.port) { observer in
            // The end of the intervals starts the squats without a command.
            #expect(await eventually { text().contains("> Squat, set 1 of 2") })
            #expect(try await control("complete-set", "--weight", "82.5").contains("Squat, set 2 of 2"))
            #expect(try await control("swap").contains("Lunge"))
            #expect(try await control("suspend").contains("suspended"))
            try installation.kill(.engine)
            #expect(try await control("resume").contains("Lunge, set 2 of 2"))
            #expect(try await control("complete-set").contains("2/2 exercises"))
            _ = try await control("end")
            #expect(await follower.finish() == 0)
            return try JSONCoding.decode(
                WorkoutRecord.self, from: try await observer.wait(for: Topic.session(key, .workout).name))
        }
        for cue in ["> Round 1 of 2: Jump", "> Rest, 0:01", "> Round 2 of 2: Jump"] {
            #expect(text().contains(cue), "\(text())")
        }
        #expect(workout.rounds?.map(\.number) == [1, 2])
        let names = workout.performedSets.filter { $0.kind == .active }.map { $0.exercise?.name }
        #expect(names == ["Jump", "Jump", "Squat", "Lunge"])
        #expect(workout.performedSets.map(\.weight).compactMap(\.self) == [82.5])
    }
}
