import ArgumentParser
import Bus
import Client
import Workouts

struct RunArgument: ParsableArguments {
    @Argument(help: "The virtual run, a UUID. (default: the user's only run to which this applies)")
    var run: RunID?
}

struct SharingOptions: ParsableArguments {
    @Flag(inversion: .prefixedNo, help: "Shares the position during the run.")
    var position: Bool?

    @Flag(inversion: .prefixedNo, help: "Shares heart rate and energy.")
    var heartRate: Bool?

    @Flag(inversion: .prefixedNo, help: "Shares the route after the run.")
    var route: Bool?

    @Flag(inversion: .prefixedNo, help: "Lets the others run against this run later.")
    var lendGhost: Bool?

    @Option(help: "Hides positions within this many metres of the start, 0 to 1600.")
    var hideNear: Double?

    func validate() throws {
        if let hideNear, !Sharing.hideNearRange.contains(hideNear) {
            throw ValidationError("invalid --hide-near '\(hideNear)'; allowed: 0 to 1600 m")
        }
    }

    var change: Sharing.Change {
        Sharing.Change(position: position, heartRate: heartRate, route: route, ghost: lendGhost, hideNear: hideNear)
    }
}

/// Commands on a virtual run.
extension Pacebus {
    struct Accept: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "accept", abstract: "Accepts the invitation to a virtual run.",
            discussion: "A run made for two then waits 60 s for both to confirm with go.")

        @OptionGroup var run: RunArgument
        @OptionGroup var sharing: SharingOptions
        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .virtualRun(.act(.accept(sharing.change), run.run, .invited)) }
    }

    struct Decline: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "decline", abstract: "Declines a virtual run before it begins.")

        @OptionGroup var run: RunArgument
        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .virtualRun(.act(.decline, run.run, .declinable)) }
    }

    struct Begin: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "begin", abstract: "Closes the invitations: the accepted runners have 60 s to confirm with go."
        )

        @OptionGroup var run: RunArgument
        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .virtualRun(.act(.begin, run.run, .beginnable)) }
    }

    struct Go: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "go", abstract: "Confirms a virtual run; the countdown begins for all once all confirmed.",
            discussion: "A device of the user starts the session, such as device simulate --virtual-run.",
            aliases: ["confirm"])

        @OptionGroup var run: RunArgument
        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .virtualRun(.act(.confirm, run.run, .confirmable)) }
    }

    struct Cancel: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "cancel", abstract: "Cancels a virtual run of which the user is host, before it begins.")

        @OptionGroup var run: RunArgument
        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .virtualRun(.act(.cancel, run.run, .cancelable)) }
    }

    struct Remove: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Removes a person from a virtual run of which the user is host.",
            discussion: "Only a person who has not confirmed can be removed.")

        @Argument(help: "The user to remove.")
        var person: User

        @OptionGroup var run: RunArgument
        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .virtualRun(.act(.remove(person), run.run, .removable)) }
    }

    struct Leave: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "leave", abstract: "Leaves a virtual run for good; the user's session continues.")

        @Flag(help: "Also ends the session and saves its workout.")
        var end = false

        @OptionGroup var run: RunArgument
        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .virtualRun(.leave(run.run, endsSession: end)) }
    }

    struct Share: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "share", abstract: "Changes what the user shares in a virtual run, at once.")

        @OptionGroup var run: RunArgument
        @OptionGroup var sharing: SharingOptions
        @OptionGroup var options: UserOptions

        func validate() throws {
            guard sharing.change != Sharing.Change() else {
                throw ValidationError("nothing to change; see share --help for the options")
            }
        }

        func request() -> ControlService.Request { .virtualRun(.act(.share(sharing.change), run.run, .shareable)) }
    }

    struct KeepWaiting: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "keep-waiting", abstract: "Waits another 180 s for partners without data.")

        @OptionGroup var run: RunArgument
        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .virtualRun(.act(.keepWaiting, run.run, .prompted)) }
    }

    struct Run: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "run", abstract: "Prints a virtual run: its runners, or its results.",
            discussion: """
                With --follow, a terminal shows the runners live; a file gets their lines when they change, every 5 s at \
                most. Cues have lines of their own.
                """)

        @Flag(help: "Shows the run live until its results or Ctrl-C.")
        var follow = false

        @OptionGroup var run: RunArgument
        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .virtualRun(follow ? .follow(run.run) : .show(run.run)) }
    }

    struct Routes: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "routes", abstract: "Prints the routes that runners of a finished virtual run share, as JSON.")

        @OptionGroup var run: RunArgument
        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .virtualRun(.routes(run.run)) }
    }

    struct Runs: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "runs", abstract: "Lists virtual runs, the newest first.")

        @Option(help: "The last day, such as 2026-11-30. (default: today)")
        var to: Day?

        @Option(help: "The maximum number of runs, 1 to \(RunsQuery.limits.upperBound).")
        var limit = 20

        @OptionGroup var options: UserOptions

        func validate() throws {
            guard RunsQuery.limits.contains(limit) else {
                throw ValidationError("invalid --limit '\(limit)'; allowed: 1 to \(RunsQuery.limits.upperBound)")
            }
        }

        func request() -> ControlService.Request {
            .virtualRun(.list(RunsQuery(before: to?.end, limit: limit)))
        }
    }
}
