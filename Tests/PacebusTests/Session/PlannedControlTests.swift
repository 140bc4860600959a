import Bus
import Client
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Pacebus

/// `pacebus` with a planned workout.
@Suite struct PlannedControlTests {
    private let fixture = ControlFixture()

    private func start(_ plan: ExamplePlan = .strength) async throws -> String {
        try await fixture.run("start", "--plan", plan.path, "--countdown", "0")
    }

    /// The last plan action that the engine received.
    private var asked: PlanAction? {
        if case .plan(let action) = fixture.services.commands.last?.action { action } else { nil }
    }

    @Test func `start with a plan prints the first exercise`() async throws {
        let text = try await start()
        #expect(
            text == """
                start: done, session \(fixture.key.session) is active, 0:00 active
                  block: Warm-up
                  clock: 5:00 left
                  on: Easy Skipping (warmup)
                  done: 0/6 exercises, 0 sets

                """)
        #expect(fixture.services.session?.activity == .traditionalStrength)
        #expect(fixture.services.session?.name == "Full Body Strength")
    }

    @Test func `--activity wins over the plan's activity`() async throws {
        _ = try await fixture.run("start", "--plan", ExamplePlan.emom.path, "--activity", "other", "--replace")
        #expect(fixture.services.session?.activity == .other)
        guard case .start(let start) = fixture.services.commands.first?.action else {
            Issue.record("nothing was started")
            return
        }
        #expect(start.replace)
    }

    @Test func `a start during another session names --replace`() async throws {
        var faults = FakeServices.Faults()
        faults.startsPostponed = 1
        let fixture = ControlFixture(faults: faults)
        let error = await #expect(throws: ControlService.Failure.self) { try await fixture.run("start") }
        let text = "\(try #require(error))"
        #expect(text.hasSuffix(" is unfinished; end or discard it first, or start with --replace"))
    }

    @Test func `a set counts from 1 in the command and from 0 on the bus`() async throws {
        _ = try await start()
        let text = try await fixture.run(
            "complete-set", "--item", "squat", "--set", "2", "--round", "1", "--repetitions", "6", "--weight", "72.5",
            "--time", "40")
        let reference = SetReference(item: "squat", set: 1, round: 1)
        #expect(asked == .completeSet(SetCompletion(reference, repetitions: 6, weight: 72.5, time: 40)))
        #expect(text.hasPrefix("complete-set: done, session \(fixture.key.session) is active, "))
        #expect(text.hasSuffix("  done: 0/6 exercises, 1 set\n"))
        _ = try await fixture.run("uncomplete-set", "--item", "squat", "--set", "2")
        #expect(asked == .uncompleteSet(SetReference(item: "squat", set: 1)))
        #expect(fixture.services.session?.planned?.progress.completed.isEmpty == true)
    }

    @Test func `each command prints the current exercise`() async throws {
        _ = try await start()
        var text = try await fixture.run("go-to", "--item", "squat")
        #expect(text.hasPrefix("go-to: done"))
        #expect(text.contains("  block: Main Lifts\n  on: Back Squat, set 1 of 4, 8 × 40 kg (squat)\n"))
        text = try await fixture.run("complete-set")
        #expect(text.contains("  clock: rest, 1:30 left\n  on: Back Squat, set 2 of 4, 5 × 70 kg (squat)\n"))
        text = try await fixture.run("harder", "--item", "squat")
        #expect(text.hasPrefix("harder: done"))
        #expect(text.contains("Back Squat, set 2 of 4, 6 × 77 kg"))
        text = try await fixture.run("easier")
        #expect(asked == .adjustDifficulty(item: nil, .easier))
        text = try await fixture.run("swap", "--item", "bench", "--alternative", "Push-up")
        #expect(asked == .swapExercise(item: "bench", alternative: "Push-up"))
        text = try await fixture.run("flag-pain")
        #expect(fixture.services.session?.planned?.progress.painFlagged == ["squat"])
        text = try await fixture.run("skip")
        #expect(text.contains("  on: Push-up, set 1 of 3, "))
        #expect(text.hasSuffix("  done: 0/5 exercises, 1 set\n"))
        text = try await fixture.run("present", "list")
        #expect(fixture.services.session?.planned?.progress.presentationMode == .list)
    }

    /// The changes that a command prints.
    private func changes(_ action: String, _ options: String...) async throws -> [String] {
        let arguments = [action] + options + ["--user", "ann", "--session", "\(fixture.key.session)"]
        return try await fixture.run(arguments).matches(of: /changed: (.*)/).map { String($0.output.1) }
    }

    @Test func `each command prints its changes`() async throws {
        _ = try await start()
        #expect(try await changes("go-to", "--item", "squat") == [])
        #expect(try await changes("complete-set") == ["Back Squat, set 1 done, 8 × 40 kg"])
        #expect(
            try await changes("complete-set", "--set", "1", "--weight", "42.5")
                == ["Back Squat, set 1 done, 8 × 42.5 kg"])
        #expect(
            try await changes("harder", "--item", "squat") == [
                "Back Squat: 6 × 77 kg instead of 5 × 70 kg, 6 × 88 kg instead of 5 × 80 kg"
            ])
        #expect(
            try await changes("easier") == [
                "Back Squat: 5 × 69.5 kg instead of 6 × 77 kg, 5 × 79 kg instead of 6 × 88 kg",
                "Bench Press: 7 × 36 kg instead of 8 × 40 kg, 5 × 54 kg instead of 6 × 60 kg, "
                    + "5 × 56 kg instead of 6 × 62.5 kg",
                "Bent-over Row: 9 × 40.5 kg instead of 10 × 45 kg, 9 × 45 kg instead of 10 × 50 kg",
            ])
        #expect(
            try await changes("swap", "--item", "bench", "--alternative", "Push-up")
                == ["Push-up instead of Bench Press"])
        #expect(try await changes("swap", "--item", "bench", "--alternative", "Push-up") == ["nothing"])
        #expect(try await changes("swap") == ["Goblet Squat instead of Back Squat"])
        #expect(try await changes("flag-pain") == ["pain noted for Goblet Squat"])
        #expect(try await changes("flag-pain") == ["nothing"])
        fixture.clock.advance(by: .seconds(60))
        #expect(try await changes("skip", "--item", "plank") == ["Plank is skipped"])
        #expect(
            try await changes("complete-set", "--item", "plank")
                == ["Plank, set 1 done, 0:45", "Plank is no longer skipped"])
        #expect(try await changes("uncomplete-set") == ["Plank, set 1 undone"])
        #expect(try await changes("present", "list") == ["shown as list, all exercises"])
        #expect(try await changes("present", "workout") == ["shown as workout, one exercise at a time"])
        #expect(try await changes("pause") == [])
    }

    @Test func `a set of a round is printed with its round`() async throws {
        _ = try await start(.amrap)
        #expect(
            try await changes("complete-set", "--item", "pullup") == ["Pull-up, round 1 done, 5 repetitions"])
    }

    @Test func `status lists the exercises with their ids`() async throws {
        _ = try await start()
        _ = try await fixture.run("go-to", "--item", "squat")
        _ = try await fixture.run("complete-set")
        _ = try await fixture.run("flag-pain", "--item", "row")
        _ = try await fixture.run("skip", "--item", "plank")
        _ = try await fixture.run("swap", "--item", "bench")
        let text = try await fixture.run("status")
        #expect(text.hasPrefix("Full Body Strength, session \(fixture.key.session), is active, "))
        let list = """
              Warm-up, countdown, 5:00
                warmup   Easy Skipping, 0/1 set
              Main Lifts, stopwatch
              > squat    Back Squat, 1/4 sets, 5 × 70 kg (or Goblet Squat, Reverse Lunge)
                bench    Dumbbell Press, 0/3 sets, 10 × 20 kg (or Bench Press, Push-up)
                row      Bent-over Row, 0/3 sets, 10 × 45 kg, hurts (or One-arm Row)
              Core, stopwatch
                plank    Plank, 0/3 sets, 0:45, skipped (or Dead Bug)
              Cool-down, countdown, 5:00
                stretch  Stretching, 0/1 set

            """
        #expect(text.hasSuffix(list))
    }

    @Test func `resume prints the current exercise`() async throws {
        _ = try await start()
        _ = try await fixture.run("go-to", "--item", "bench")
        _ = try await fixture.run("complete-set")
        _ = try await fixture.run("suspend")
        fixture.clock.advance(by: .seconds(3_600))
        let text = try await fixture.run("resume")
        #expect(
            text == """
                resume: done, session \(fixture.key.session) is active, 0:00 active
                  block: Main Lifts
                  clock: rest, 1:30 left
                  on: Bench Press, set 2 of 4, 6 × 60 kg (bench)
                  done: 0/6 exercises, 1 set

                """)
    }

    @Test func `a refusal names the command`() async throws {
        _ = try await start()
        try await fixture.command(.discard)
        for name in ["complete-set", "easier"] {
            let error = await #expect(throws: ControlService.Failure.self) { try await fixture.run(name) }
            #expect(
                error?.description == "\(name) is not possible while the session is canceled; "
                    + "allowed: active, paused, suspended")
        }
    }

    @Test func `an unknown exercise is refused with the available ones`() async throws {
        _ = try await start()
        let error = await #expect(throws: ControlService.Failure.self) {
            try await fixture.run("go-to", "--item", "curl")
        }
        #expect(
            error?.description
                == "item: unknown item 'curl'; available: warmup, squat, bench, row, plank, stretch")
    }

    @Test func `plans are saved, listed, started and deleted`() async throws {
        let plan = PlanID(UUID())
        let user = ["--user", "ann"]
        #expect(try await fixture.run(["plans"] + user) == "ann has no saved plans\n")
        let saved = try await fixture.run(["save-plan", ExamplePlan.amrap.path, "--plan-id", "\(plan)"] + user)
        #expect(saved == "saved plan \(plan): AMRAP 15\n")
        let list = try await fixture.run(["plans"] + user)
        #expect(list.hasPrefix("\(plan)  AMRAP 15, saved 20"))
        #expect(list.hasSuffix("\n  Easy Skipping, Pull-up, Push-up, Air Squat, Stretching\n"))
        let again = ["save-plan", ExamplePlan.amrap.path, "--plan-id", "\(plan)", "--unchanged-since"]
        await #expect(throws: ControlService.Failure.refused(.planChanged)) {
            try await fixture.run(again + ["2013-11-22T07:30:00Z"] + user)
        }
        #expect(try await fixture.run(again + ["2099-11-22T07:30:00+01:00"] + user) == saved)
        _ = try await fixture.run("start", "--saved-plan", "\(plan)")
        #expect(fixture.services.session?.activity == .hiit)
        #expect(fixture.services.session?.planned != nil)
        #expect(try await fixture.run(["delete-plan", "\(plan)"] + user) == "deleted plan \(plan)\n")
        await #expect(throws: ControlService.Failure.noSuchPlan(fixture.key.user, plan)) {
            try await fixture.run("start", "--saved-plan", "\(plan)")
        }
        await #expect(throws: ControlService.Failure.refused(.invalidCommand("no such plan"))) {
            try await fixture.run(["delete-plan", "\(plan)"] + user)
        }
    }

    @Test func `a plan without an id gets one`() async throws {
        let text = try await fixture.run(["save-plan", ExamplePlan.emom.path, "--user", "ann"])
        let id = try #require(text.wholeMatch(of: /saved plan (.{36}): EMOM 12\n/)?.1)
        #expect(PlanID(String(id)) != nil)
    }

    @Test func `the history is asked for by days`() async throws {
        #expect(try await fixture.run(["history", "--user", "ann"]) == "ann has no such workouts\n")
        let command = try ControlFixture.command(
            ["history", "--from", "2026-11-01", "--to", "2026-11-30", "--limit", "3", "--user", "ann"])
        guard case .history(let query) = try command.request(), let from = query.from, let to = query.to else {
            Issue.record("no query")
            return
        }
        #expect(query.limit == 3 && abs(to.seconds(since: from) - 30 * 86_400) <= 3_600)
        for wrong in [
            ["--from", "2026-02-30"], ["--to", "today"], ["--limit", "101"],
            ["--from", "2026-12-01", "--to", "2026-11-30"],
        ] {
            #expect(throws: (any Error).self) { try ControlFixture.command(["history"] + wrong) }
        }
    }

    @Test func `update changes units and time zone`() async throws {
        _ = try await start()
        _ = try await fixture.run("update", "--units", "imperial", "--time-zone", "Japan")
        #expect(fixture.services.session?.units == .imperial && fixture.services.session?.timeZone == "Japan")
        for wrong in [["update"], ["update", "--time-zone", "PST"]] {
            #expect(throws: (any Error).self) { try ControlFixture.command(wrong) }
        }
    }
}
