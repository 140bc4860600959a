import ArgumentParser
import Workouts

/// Commands on any session.
extension Pacebus {
    struct Pause: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "pause", abstract: "Pauses the session and its clock.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.pause) }
    }

    struct Resume: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "resume",
            abstract: "Resumes a paused or suspended session and prints the exercise to continue with.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.resume) }
    }

    struct Lap: SessionCommand {
        static let configuration = CommandConfiguration(commandName: "lap", abstract: "Ends a lap and begins the next.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.lap) }
    }

    struct Suspend: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "suspend", abstract: "Suspends the session; resume continues it within six hours.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.suspend) }
    }

    struct End: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "end", abstract: "Ends the session and saves its workout.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.end(streams: [:])) }
    }

    struct Discard: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "discard", abstract: "Discards the session without a workout; recover undoes it.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.discard) }
    }

    struct Recover: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "recover",
            abstract: "Saves the workout of a discarded or expired session; requires --session.")

        @OptionGroup var options: SessionOptions

        func validate() throws {
            guard session != nil else {
                throw ValidationError("missing --session: the UUID of the discarded or expired session")
            }
        }

        func request() -> ControlService.Request { .command(.recover) }
    }

    struct Update: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "update", abstract: "Changes the session's units or time zone, also after its end.")

        @Option(help: "The units of distances.")
        var units: Units?

        @Option(help: "An IANA time zone such as Europe/Berlin.")
        var timeZone: String?

        @OptionGroup var options: SessionOptions

        func validate() throws {
            guard units != nil || timeZone != nil else {
                throw ValidationError("missing --units or --time-zone: nothing to change")
            }
            if let timeZone { try checkTimeZone(timeZone) }
        }

        func request() -> ControlService.Request {
            .command(.update(SessionUpdate(units: units, timeZone: timeZone)))
        }
    }

    struct Status: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Prints the session's clock, live metrics and exercises with their ids and alternatives.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .status }
    }

    struct Follow: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "follow", abstract: "Shows the session live until it ends or Ctrl-C.",
            discussion: """
                On a terminal, it updates one line; in a file, each change is a line. Announcements have lines of \
                their own.
                """)

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .follow }
    }
}
