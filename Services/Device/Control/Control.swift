import ArgumentParser

struct Control: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "control",
        abstract:
            "Controls a session from a shell, and a planned workout in it; status shows it once, follow as it goes.",
        discussion: """
            Without --session an action is about the user's current session. Sets and rounds of a planned workout count \
            from 1; --item takes an exercise's id, which status prints. An action's --help-hidden lists its base settings \
            too, --mqtt-url and so on. Exits with 1 and the session engine's message when the engine refuses, and when it \
            has not answered for 30 s.
            """,
        groupedSubcommands: [
            CommandGroup(
                name: "Session",
                subcommands: [
                    Start.self, Pause.self, Resume.self, Lap.self, Suspend.self, End.self, Discard.self, Recover.self,
                    Status.self, Follow.self,
                ]),
            CommandGroup(
                name: "Planned workout",
                subcommands: [
                    CompleteSet.self, UncompleteSet.self, Skip.self, FlagPain.self, Swap.self, Easier.self,
                    Harder.self, GoTo.self, Present.self,
                ]),
            CommandGroup(name: "Saved plans", subcommands: [SavePlan.self, DeletePlan.self, Plans.self]),
        ])

    /// Puts the action first, where it may follow its options: `control --user ann pause`.
    ///
    /// Every option that was ever written before an action has a value.
    static func arranged(_ arguments: [String]) throws -> [String] {
        guard arguments.first == configuration.commandName else { return arguments }
        var index = 1
        while index < arguments.count, arguments[index].hasPrefix("-") {
            index += arguments[index].contains("=") ? 1 : 2
        }
        let actions = configuration.subcommands.compactMap { $0.configuration.commandName }
        let names = actions.joined(separator: ", ")
        guard index < arguments.count else {
            let isAlone = arguments.count == 1 || arguments.contains { ["-h", "--help"].contains($0) }
            if isAlone { return arguments }
            throw ValidationError("the action is missing: \(names)")
        }
        guard actions.contains(arguments[index]) else {
            throw ValidationError("there is no action '\(arguments[index])': \(names)")
        }
        var rest = arguments
        let action = rest.remove(at: index)
        rest.insert(action, at: 1)
        return rest
    }
}
