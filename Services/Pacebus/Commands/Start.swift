import ArgumentParser
import Foundation
import Workouts

extension Pacebus {
    struct Start: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "start", abstract: "Starts a session, with --plan or --saved-plan a planned workout.")

        @OptionGroup var start: StartOptions
        @OptionGroup var options: SessionOptions

        func request() throws -> ControlService.Request { .start(try start.start()) }
    }
}

struct StartOptions: ParsableArguments {
    @Option(help: "The activity. (default: the activity of the plan, else running)")
    var activity: Activity?

    @Option(help: "The environment. (default: the activity's usual one)")
    var environment: Workouts.Environment?

    @Option(help: "The length of the pool in metres, 5 to 200; without --environment the swim is indoors.")
    var poolLength: Double?

    @Option(help: "The session's name, 1 to 200 bytes. (default: the plan's, else such as Outdoor Running)")
    var name: String?

    @Option(help: "Seconds to count down, 0 to 600. (default: 3)")
    var countdown: Double?

    @Option(help: "The units of distances. (default: metric)")
    var units: Units?

    @Option(help: "An IANA time zone such as Europe/Berlin. (default: the time zone of this machine)")
    var timeZone: String?

    @Option(help: "A JSON file with a planned workout.")
    var plan: String?

    @Option(help: "A saved plan, a UUID; plans lists them.")
    var savedPlan: PlanID?

    @Flag(help: "Discards the user's unfinished session. Without it, start fails while there is one.")
    var replace = false

    @Flag(help: "Shows the session live, as follow does.")
    var follow = false

    func validate() throws {
        guard plan == nil || savedPlan == nil else {
            throw ValidationError("--plan and --saved-plan exclude each other")
        }
        if let countdown, !(0...600).contains(countdown) {
            throw ValidationError("invalid --countdown '\(countdown)'; allowed: 0 to 600 seconds")
        }
        if let poolLength, !SessionStart.poolLengths.contains(poolLength) {
            throw ValidationError("invalid --pool-length '\(poolLength)'; allowed: 5 to 200 m")
        }
        if let name, !(1...200).contains(name.utf8.count) {
            throw ValidationError("invalid --name of \(name.utf8.count) bytes; allowed: 1 to 200 bytes")
        }
        if let name, name.hasControlCharacters {
            throw ValidationError(
                "invalid --name '\(name.escapingControlCharacters())'; allowed: text without control characters")
        }
        if let timeZone { try checkTimeZone(timeZone) }
    }

    func start() throws(PlanFile.Problem) -> ControlService.Start {
        var start = SessionStart(
            activity: activity ?? .running, environment: environment ?? poolLength.map { _ in .indoor }, name: name,
            countdown: countdown, units: units, timeZone: timeZone ?? TimeZone.current.identifier)
        start.poolLength = poolLength
        start.replace = replace
        if let plan { start.definition = try PlanFile(path: plan).definition }
        return ControlService.Start(start: start, activity: activity, savedPlan: savedPlan, isFollowed: follow)
    }
}

func checkTimeZone(_ name: String) throws {
    guard TimeZone.isIANA(name) else {
        throw ValidationError("unknown --time-zone '\(name)'; allowed: an IANA time zone such as Europe/Berlin")
    }
}
