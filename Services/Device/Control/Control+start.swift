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

    @Option(help: "The session's name; by default the planned workout's, else one made of activity and environment.")
    var name: String?

    @Option(help: "Seconds to count down; by default 3.")
    var countdown: Double?

    @Option(help: "How distances are read; by default metric.")
    var units: Units?

    @Option(help: "An IANA time zone; by default this machine's.")
    var timeZone: String?

    @Option(help: "A file with the planned workout, as JSON.")
    var plan: String?

    @Option(help: "The planned workout, a UUID of those that plans lists.")
    var savedPlan: PlanID?

    @Flag(help: "Discards the user's unfinished session.")
    var replace = false

    @Flag(help: "Shows the session as it goes, as follow does.")
    var follow = false

    func validate() throws {
        guard plan == nil || savedPlan == nil else {
            throw ValidationError("--plan and --saved-plan: only one of them")
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
