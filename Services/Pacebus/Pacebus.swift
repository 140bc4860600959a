import ArgumentParser
import Client
import ServiceKit

@main
struct Pacebus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pacebus",
        abstract: "Starts, controls, follows and exports workouts.",
        discussion: """
            Commands go to the broker at --mqtt-url (environment: MQTT_URL). They act for the user in that URL, or for \
            --user. They apply to the user's unfinished session, or to --session. COMMAND --help-hidden also lists the \
            connection options.

            Exits with 1 and the reason if session-engine refuses a command or does not reply within 30 s, and with \
            130 after Ctrl-C.
            """,
        version: BuildInfo.version,
        groupedSubcommands: [
            CommandGroup(
                name: "Session",
                subcommands: [
                    Start.self, Pause.self, Resume.self, Lap.self, Suspend.self, End.self, Discard.self, Recover.self,
                    Update.self, Status.self, Follow.self, History.self, Export.self, Import.self,
                ]),
            CommandGroup(
                name: "Planned workout",
                subcommands: [
                    CompleteSet.self, UncompleteSet.self, Skip.self, FlagPain.self, Swap.self, Easier.self,
                    Harder.self, GoTo.self, Present.self,
                ]),
            CommandGroup(name: "Saved plans", subcommands: [SavePlan.self, DeletePlan.self, Plans.self]),
            CommandGroup(name: "For makers of devices", subcommands: [CheckDevice.self]),
            CommandGroup(name: "For operators", subcommands: [Trace.self]),
            CommandGroup(
                name: "Virtual run",
                subcommands: [
                    Invite.self, Accept.self, Decline.self, Begin.self, Go.self, Cancel.self, Leave.self, Share.self,
                    Remove.self, KeepWaiting.self, Runs.self, Run.self, Routes.self, Contacts.self, Block.self,
                    Unblock.self,
                ]),
        ])

    static func main() async {
        do {
            await main(try arranged(Array(CommandLine.arguments.dropFirst())))
        } catch {
            exit(withError: error)
        }
    }

    /// Moves a command in front of its options: `pacebus --user ann pause`. Options before a command have a value.
    static func arranged(_ arguments: [String]) throws -> [String] {
        let flags: Set = ["-h", "--help", "--help-hidden", "--version"]
        guard let first = arguments.first, !flags.contains(first), first != "help" else { return arguments }
        let commands = configuration.subcommands.compactMap { $0.configuration.commandName }
        let aliases = configuration.subcommands.flatMap { $0.configuration.aliases }
        let names = commands.joined(separator: ", ")
        var index = 0
        while index < arguments.count, arguments[index].hasPrefix("-") {
            index += arguments[index].contains("=") ? 1 : 2
        }
        guard index < arguments.count else { throw ValidationError("missing command; available: \(names)") }
        guard (commands + aliases).contains(arguments[index]) else {
            throw ValidationError("unknown command '\(arguments[index])'; available: \(names)")
        }
        var rest = arguments
        let command = rest.remove(at: index)
        return [command] + rest
    }
}
