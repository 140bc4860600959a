import ArgumentParser
import Workouts

/// What is done to any session.
extension Control {
    struct Pause: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "pause", abstract: "Pauses the session: its clock stands until resume.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.pause) }
    }

    struct Resume: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "resume",
            abstract: "Goes on with a session that was paused or suspended, and tells where it is.")

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
            commandName: "suspend", abstract: "Leaves the session for now; resume goes on, within six hours.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.suspend) }
    }

    struct End: SessionCommand {
        static let configuration = CommandConfiguration(commandName: "end", abstract: "Ends the session and saves it.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.end(streams: [:])) }
    }

    struct Discard: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "discard", abstract: "Gives the session up: no workout is saved. recover takes that back.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.discard) }
    }

    struct Recover: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "recover",
            abstract: "Saves a session that was discarded, or given up after six hours; needs the --session.")

        @OptionGroup var options: SessionOptions

        func validate() throws {
            guard session != nil else {
                throw ValidationError(
                    "--session: needs the UUID of the session, for none that was given up is the current one")
            }
        }

        func request() -> ControlService.Request { .command(.recover) }
    }

    struct Status: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Shows the session once: clock, live metrics, and exercises with ids and alternatives.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .status }
    }

    struct Follow: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "follow", abstract: "Shows the session as it goes, until it is over or Ctrl-C.",
            discussion: "One line written anew on a terminal, elsewhere a line at each change; announcements between.")

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .follow }
    }
}
