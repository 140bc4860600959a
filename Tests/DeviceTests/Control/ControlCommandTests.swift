import ArgumentParser
import Testing
import Workouts

@testable import Device

/// What command lines of `device control` mean.
@Suite struct ControlCommandTests {
    private func action(_ arguments: String...) throws -> SessionAction? {
        let request = try ControlFixture.command(arguments + ["--user", "ann"]).request()
        if case .command(let action) = request { return action } else { return nil }
    }

    /// Why a command line is refused.
    private func refusal(_ arguments: String...) -> String? {
        do {
            _ = try DeviceCommand.parseAsRoot(try Control.arranged(["control"] + arguments))
            return nil
        } catch {
            return DeviceCommand.message(for: error)
        }
    }

    @Test func `every action of a session has its command`() throws {
        #expect(try action("pause") == .pause)
        #expect(try action("resume") == .resume)
        #expect(try action("lap") == .lap)
        #expect(try action("suspend") == .suspend)
        #expect(try action("end") == .end(streams: [:]))
        #expect(try action("discard") == .discard)
        #expect(try action("recover", "--session", "11111111-2222-4333-8444-123456789abc") == .recover)
    }

    @Test func `every action of a plan has its command`() throws {
        let set = SetReference(item: "bench", set: 0, round: 2)
        #expect(
            try action(
                "complete-set", "--item", "bench", "--set", "1", "--round", "2", "--repetitions", "8", "--weight",
                "62.5", "--time", "40")
                == .plan(.completeSet(SetCompletion(set, repetitions: 8, weight: 62.5, time: 40))))
        #expect(try action("complete-set") == .plan(.completeSet(SetCompletion())))
        #expect(
            try action("uncomplete-set", "--item", "bench", "--set", "1", "--round", "2")
                == .plan(.uncompleteSet(set)))
        #expect(try action("uncomplete-set") == .plan(.uncompleteSet(SetReference())))
        #expect(try action("skip", "--item", "bench") == .plan(.skipExercise(item: "bench")))
        #expect(try action("skip") == .plan(.skipExercise(item: nil)))
        #expect(try action("flag-pain", "--item", "bench") == .plan(.flagPain(item: "bench")))
        #expect(
            try action("swap", "--item", "bench", "--alternative", "Push-up")
                == .plan(.swapExercise(item: "bench", alternative: "Push-up")))
        #expect(try action("swap") == .plan(.swapExercise(item: nil, alternative: nil)))
        #expect(try action("easier") == .plan(.adjustDifficulty(item: nil, .easier)))
        #expect(try action("harder", "--item", "squat") == .plan(.adjustDifficulty(item: "squat", .harder)))
        #expect(try action("go-to", "--item", "squat") == .plan(.goTo(item: "squat")))
        #expect(try action("present", "list") == .plan(.setPresentationMode(.list)))
        #expect(try action("present", "workout") == .plan(.setPresentationMode(.workout)))
    }

    @Test func `the action may follow its options`() throws {
        let arguments = [
            "control", "--user", "ann", "--name=start", "--countdown", "0", "start", "--units", "imperial",
        ]
        #expect(
            try Control.arranged(arguments)
                == ["control", "start", "--user", "ann", "--name=start", "--countdown", "0", "--units", "imperial"])
        #expect(
            try Control.arranged(["control", "--name", "pause", "start"]) == ["control", "start", "--name", "pause"])
        for unchanged in [["control"], ["control", "--help"], ["control", "-h"], ["replay", "run.fit"], []] {
            #expect(try Control.arranged(unchanged) == unchanged)
        }
        #expect(refusal("--user", "ann", "--session", "11111111-2222-4333-8444-123456789abc", "pause") == nil)
    }

    @Test func `an action that is unknown or missing is refused with those there are`() throws {
        #expect(try #require(refusal("pasue", "--user", "ann")).contains("no action 'pasue': start, pause, resume"))
        #expect(try #require(refusal("--user", "ann")).contains("the action is missing: start, pause, resume"))
    }

    @Test(arguments: [
        (["pause", "--countdown", "0"], "--countdown"), (["status", "--plan", "emom.json"], "--plan"),
        (["uncomplete-set", "--weight", "60"], "--weight"), (["skip", "--set", "1"], "--set"),
        (["go-to", "--item", "squat", "--round", "1"], "--round"), (["follow", "--replace"], "--replace"),
        (["plans", "--session", "11111111-2222-4333-8444-123456789abc"], "--session"),
        (["easier", "--alternative", "Push-up"], "--alternative"), (["go-to"], "--item"),
        (["recover"], "--session: needs the UUID"),
        (["complete-set", "--set", "0"], "--set: expected 1 or more"),
        (["uncomplete-set", "--round", "0"], "--round: expected 1 or more"),
        (["complete-set", "--weight", "1001"], "--weight: expected 0 to 1000 kg"),
        (["complete-set", "--repetitions", "0"], "--repetitions: expected 1 to 1000"),
        (["complete-set", "--time", "nan"], "--time: expected 1 to 36000 s"),
        (["start", "--countdown", "601"], "--countdown: expected 0 to 600"),
        (["start", "--name", ""], "--name: expected 1 to 200 bytes"),
        (["start", "--time-zone", "PST"], "--time-zone: expected an IANA time zone such as Europe/Berlin"),
        (["present", "all"], "workout"), (["delete-plan", "squat"], "squat"),
        (
            ["start", "--plan", "a.json", "--saved-plan", "11111111-2222-4333-8444-123456789abc"],
            "expected one of them"
        ),
    ])
    func `what does not fit an action is refused by its name`(arguments: [String], name: String) throws {
        let arguments = arguments + ["--user", "ann"]
        let error = #expect(throws: (any Error).self) { try DeviceCommand.parseAsRoot(["control"] + arguments) }
        #expect(DeviceCommand.message(for: try #require(error)).contains(name))
    }

    @Test(arguments: [
        (["control", "pause", "--user", "Ann B"], "lowercase letters, digits, - and _"),
        (["control", "plans", "--user", "Ann B"], "lowercase letters, digits, - and _"),
        (["control", "pause", "--user", "ann", "--session", "7"], "UUID"),
        (["control", "save-plan", "plan.json", "--user", "ann", "--plan-id", "7"], "UUID"),
        (["control", "start", "--user", "ann", "--saved-plan", "7"], "UUID"),
        (["control", "start", "--user", "ann", "--countdown", "soon"], "0 to 600"),
        (["control", "start", "--user", "ann", "--units", "feet"], "metric"),
        (["control", "complete-set", "--user", "ann", "--set", "first"], "from 1"),
        (["control", "complete-set", "--user", "ann", "--weight", "heavy"], "0 to 1000"),
        (["control", "complete-set", "--user", "ann", "--repetitions", "7.5"], "1 to 1000"),
        (["control", "complete-set", "--user", "ann", "--time", "long"], "1 to 36000"),
        (["replay", "run.fit", "--speed-up", "-1"], "0 or more"), (["simulate", "--duration", "long"], "0 or more"),
        (["simulate", "--device", "Watch 1"], "lowercase letters, digits and dashes"),
        (["simulate", "--rate", "fast"], "0.001 to 1000"), (["simulate", "--devices", "many"], "1 to 100000"),
        (["simulate", "--seed", "-1"], "whole number"),
    ])
    func `a value that cannot be read is refused with what is allowed`(arguments: [String], allowed: String) throws {
        let error = #expect(throws: (any Error).self) { try DeviceCommand.parseAsRoot(arguments) }
        let text = DeviceCommand.fullMessage(for: try #require(error)).replacing(/\s+/, with: " ")
        #expect(text.contains(allowed))
    }

    @Test func `the help of an action is about the action`() {
        let help = DeviceCommand.helpMessage(for: Control.Pause.self)
        #expect(help.contains("--session"))
        #expect(!help.contains("--mqtt-url"))
        #expect(DeviceCommand.helpMessage(for: Control.Pause.self, includeHidden: true).contains("--mqtt-url"))
        #expect(DeviceCommand.helpMessage(for: Control.self).contains("--help-hidden"))
    }

    @Test func `a start without a plan is a run and one with a plan what the plan suggests`() throws {
        func start(_ arguments: String...) throws -> ControlService.Start {
            let request = try ControlFixture.command(["start", "--user", "ann"] + arguments).request()
            guard case .start(let start) = request else { throw ValidationError("no start") }
            return start
        }
        #expect(try start().start.activity == .running)
        #expect(try start().activity == nil)
        #expect(try start("--activity", "cycling").activity == .cycling)
        #expect(try start("--plan", ExamplePlan.emom.path).start.definition?.name == "EMOM 12")
        #expect(try start("--replace", "--follow").start.replace)
        #expect(try start("--follow").isFollowed)
    }
}
