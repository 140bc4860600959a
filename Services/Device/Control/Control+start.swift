import ArgumentParser
import Foundation
import Workouts

extension Control {
    struct Start: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "start", abstract: "Begins a session, of a planned workout with --plan or --saved-plan.")

        @OptionGroup(title: "Options for start") var start: StartOptions
        @OptionGroup var options: SessionOptions

        func request() throws -> ControlService.Request { .start(try start.start()) }
    }
}

struct StartOptions: ParsableArguments {
    @Option(help: "What is done; by default what the planned workout is made for, without one running.")
    var activity: Activity?

    @Option(help: "Where it is done; by default where the activity usually is.")
    var environment: Workouts.Environment?

    @Option(
        help:
            "The session's name, 1 to 200 bytes; by default the planned workout's, else made of activity and environment."
    )
    var name: String?

    @Option(help: "Seconds to count down, 0 to 600; by default 3.")
    var countdown: Double?

    @Option(help: "How distances are told; by default metric.")
    var units: Units?

    @Option(help: "An IANA time zone such as Europe/Berlin; by default this machine's.")
    var timeZone: String?

    @Option(help: "Carries out the planned workout of a JSON file.")
    var plan: String?

    @Option(help: "Carries out a saved plan, named by its UUID as plans lists it.")
    var savedPlan: PlanID?

    @Flag(help: "Discards the user's unfinished session first; without it a start is refused while there is one.")
    var replace = false

    @Flag(help: "Shows the session as it goes, as follow does.")
    var follow = false

    func validate() throws {
        guard plan == nil || savedPlan == nil else {
            throw ValidationError("--plan and --saved-plan: expected one of them")
        }
        if let countdown, !(0...600).contains(countdown) { throw ValidationError("--countdown: expected 0 to 600") }
        if let name, !(1...200).contains(name.utf8.count) { throw ValidationError("--name: expected 1 to 200 bytes") }
        if let timeZone, !TimeZone.isIANA(timeZone) {
            throw ValidationError("--time-zone: expected an IANA time zone such as Europe/Berlin")
        }
    }

    func start() throws(PlanFile.Problem) -> ControlService.Start {
        var start = SessionStart(
            activity: activity ?? .running, environment: environment, name: name, countdown: countdown, units: units,
            timeZone: timeZone ?? TimeZone.current.identifier)
        start.replace = replace
        if let plan { start.definition = try PlanFile(path: plan).definition }
        return ControlService.Start(start: start, activity: activity, savedPlan: savedPlan, isFollowed: follow)
    }
}
