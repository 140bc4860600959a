import ArgumentParser
import Client
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Pacebus

/// The command line of `pacebus`.
@Suite struct PacebusCommandTests {
    private func action(_ arguments: String...) throws -> SessionAction? {
        let request = try ControlFixture.command(arguments + ["--user", "ann"]).request()
        if case .command(let action) = request { return action } else { return nil }
    }

    /// The error of a command line.
    private func refusal(_ arguments: String...) -> String? {
        do {
            _ = try Pacebus.parseAsRoot(try Pacebus.arranged(arguments))
            return nil
        } catch {
            return Pacebus.message(for: error)
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

    @Test func `the command may follow its options`() throws {
        #expect(
            try Pacebus.arranged(["--user", "ann", "--name=start", "--countdown", "0", "start", "--units", "imperial"])
                == ["start", "--user", "ann", "--name=start", "--countdown", "0", "--units", "imperial"])
        #expect(try Pacebus.arranged(["--name", "pause", "start"]) == ["start", "--name", "pause"])
        for unchanged in [["--help"], ["-h"], ["--version"], ["--help-hidden"], ["help", "start"], ["lap"], []] {
            #expect(try Pacebus.arranged(unchanged) == unchanged)
        }
        #expect(refusal("--user", "ann", "--session", "11111111-2222-4333-8444-123456789abc", "pause") == nil)
    }

    @Test func `an unknown or missing command is refused with the available ones`() throws {
        #expect(
            try #require(refusal("pasue", "--user", "ann")).contains(
                "unknown command 'pasue'; available: start, pause, resume"))
        #expect(try #require(refusal("--user", "ann")).contains("missing command; available: start, pause, resume"))
    }

    @Test(arguments: [
        (["pause", "--countdown", "0"], "--countdown"), (["status", "--plan", "emom.json"], "--plan"),
        (["uncomplete-set", "--weight", "60"], "--weight"), (["skip", "--set", "1"], "--set"),
        (["go-to", "--item", "squat", "--round", "1"], "--round"), (["follow", "--replace"], "--replace"),
        (["plans", "--session", "11111111-2222-4333-8444-123456789abc"], "--session"),
        (["easier", "--alternative", "Push-up"], "--alternative"), (["go-to"], "--item"),
        (["recover"], "missing --session: the UUID"),
        (["complete-set", "--set", "0"], "invalid --set '0'; allowed: 1 or more"),
        (["uncomplete-set", "--round", "0"], "invalid --round '0'; allowed: 1 or more"),
        (["complete-set", "--weight", "1001"], "invalid --weight; allowed: 0 to 1000 kg"),
        (["complete-set", "--repetitions", "0"], "invalid --repetitions; allowed: 1 to 1000"),
        (["complete-set", "--time", "nan"], "invalid --time; allowed: 1 to 36000 s"),
        (["start", "--pool-length", "2"], "invalid --pool-length '2.0'; allowed: 5 to 200 m"),
        (["start", "--countdown", "601"], "invalid --countdown '601.0'; allowed: 0 to 600"),
        (["start", "--name", ""], "invalid --name of 0 bytes; allowed: 1 to 200 bytes"),
        (
            ["start", "--name", "a\u{1B}[2J"], #"invalid --name 'a\u{1B}[2J'; allowed: text without control characters"#
        ),
        (
            ["start", "--time-zone", "PST"],
            "unknown --time-zone 'PST'; allowed: an IANA time zone such as Europe/Berlin"
        ),
        (["present", "all"], "workout"), (["delete-plan", "squat"], "squat"),
        (["save-plan", "a.json", "--unchanged-since", "2026-11-22T07:30:00Z"], "--unchanged-since needs --plan-id"),
        (["save-plan", "a.json", "--unchanged-since", "today"], "invalid time 'today'; allowed: such as 2026-11-22"),
        (
            ["start", "--plan", "a.json", "--saved-plan", "11111111-2222-4333-8444-123456789abc"],
            "--plan and --saved-plan exclude each other"
        ),
    ])
    func `an option that does not fit a command is refused by its name`(arguments: [String], name: String) throws {
        let arguments = arguments + ["--user", "ann"]
        let error = #expect(throws: (any Error).self) { try Pacebus.parseAsRoot(arguments) }
        #expect(Pacebus.message(for: try #require(error)).contains(name))
    }

    @Test(arguments: [
        (["pause", "--user", "Ann B"], "lowercase letters, digits, - and _"),
        (["plans", "--user", "Ann B"], "lowercase letters, digits, - and _"),
        (["pause", "--user", "ann", "--session", "7"], "UUID"),
        (["save-plan", "plan.json", "--user", "ann", "--plan-id", "7"], "UUID"),
        (["start", "--user", "ann", "--saved-plan", "7"], "UUID"),
        (["start", "--user", "ann", "--countdown", "soon"], "0 to 600"),
        (["start", "--user", "ann", "--units", "feet"], "metric"),
        (["complete-set", "--user", "ann", "--set", "first"], "from 1"),
        (["complete-set", "--user", "ann", "--weight", "heavy"], "0 to 1000"),
        (["complete-set", "--user", "ann", "--repetitions", "7.5"], "1 to 1000"),
        (["complete-set", "--user", "ann", "--time", "long"], "1 to 36000"),
    ])
    func `an invalid value is refused with the allowed ones`(arguments: [String], allowed: String) throws {
        let error = #expect(throws: (any Error).self) { try Pacebus.parseAsRoot(arguments) }
        let text = Pacebus.fullMessage(for: try #require(error)).replacing(/\s+/, with: " ")
        #expect(text.contains(allowed))
    }

    @Test func `the help of a command is about the command`() {
        let help = Pacebus.helpMessage(for: Pacebus.Pause.self)
        #expect(help.contains("--session"))
        #expect(!help.contains("--mqtt-url"))
        #expect(Pacebus.helpMessage(for: Pacebus.Pause.self, includeHidden: true).contains("--mqtt-url"))
        #expect(Pacebus.helpMessage().contains("--help-hidden"))
    }

    @Test func `a start without a plan is a run, and one with a plan has the plan's activity`() throws {
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

    @Test func `the user is the one of the option, else of the broker's URL`() throws {
        func user(_ arguments: [String], url: String?) throws -> User {
            var context = ServiceContext(
                configuration: ServiceConfiguration(name: "pacebus"), logger: .silent, bus: FakeBus([]))
            context.configuration.mqtt.username = url
            let command = try ControlFixture.command(arguments)
            return try command.build(context, try command.request()).user
        }
        #expect(try user(["pause", "--user", "ann"], url: "bert") == User("ann"))
        #expect(try user(["pause"], url: "bert") == User("bert"))
        #expect(try user(["plans"], url: "bert") == User("bert"))
        let service = #expect(throws: ValidationError.self) { try user(["pause"], url: "_operator") }
        #expect(service?.message.contains("'_operator' is a service account; use --user NAME") == true)
        let none = #expect(throws: ValidationError.self) { try user(["pause"], url: nil) }
        #expect(none?.message.hasPrefix("missing --user: --mqtt-url has no user") == true)
    }

    @Test func `the version is printed`() throws {
        let error = #expect(throws: (any Error).self) { try Pacebus.parseAsRoot(["--version"]) }
        #expect(Pacebus.message(for: try #require(error)) == pacebusVersion)
    }
}
