import ArgumentParser
import Bus
import Client
import Workouts

/// Commands on the people whom a user runs with.
extension Pacebus {
    struct Contacts: UserCommand {
        enum Change: String, ExpressibleByArgument, CaseIterable {
            case list, add, remove
        }

        static let configuration = CommandConfiguration(
            commandName: "contacts", abstract: "Lists, adds or removes the people whom the user runs with.",
            discussion: "Accepting an invitation makes both contacts of each other.")

        @Argument(help: "What to do.")
        var change = Change.list

        @Argument(help: "The user to add or remove.")
        var contact: User?

        @Option(help: "From now on, only these people can invite the user.")
        var invitesFrom: InvitesFrom?

        @OptionGroup var options: UserOptions

        func validate() throws {
            guard (change == .list) == (contact == nil) else {
                throw ValidationError(
                    change == .list
                        ? "unexpected '\(contact?.description ?? "")'; use contacts add or contacts remove"
                        : "missing user; use contacts \(change.rawValue) USER")
            }
            guard change == .list || invitesFrom == nil else {
                throw ValidationError("--invites-from applies to contacts without add or remove")
            }
        }

        func request() -> ControlService.Request {
            switch (change, contact, invitesFrom) {
            case (.add, let contact?, _): .virtualRun(.people(.addContact(contact), done: "\(contact) is a contact"))
            case (.remove, let contact?, _):
                .virtualRun(.people(.removeContact(contact), done: "\(contact) is not a contact"))
            case (_, _, let from?): .virtualRun(.people(.setInvites(from), done: "invitations from \(from.rawValue)"))
            default: .virtualRun(.contacts)
            }
        }
    }

    struct Block: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "block", abstract: "Blocks a person: no invitations, and nothing shared between both at once.")

        @Argument(help: "The user to block.")
        var person: User

        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request {
            .virtualRun(.people(.block(person), done: "\(person) is blocked"))
        }
    }

    struct Unblock: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "unblock", abstract: "Unblocks a person.")

        @Argument(help: "The user to unblock.")
        var person: User

        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request {
            .virtualRun(.people(.unblock(person), done: "\(person) is not blocked"))
        }
    }
}
