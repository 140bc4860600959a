import ArgumentParser
import ServiceKit
import Workouts

/// An action of `device control`: what it asks, and of whom.
protocol ControlCommand: AsyncParsableCommand {
    var user: User { get }
    /// `nil` where it is the user's current one, or none is meant.
    var session: SessionID? { get }
    var base: BaseOptions { get }

    /// - Throws: what is wrong with a file that it names.
    func request() throws -> ControlService.Request
}

extension ControlCommand {
    func run() async throws {
        let request = try request()
        try await ServiceRunner.run("device", base) { context in [build(context, request)] }
    }

    func build(
        _ context: ServiceContext, _ request: ControlService.Request, terminal: Terminal = .standard
    ) -> ControlService {
        ControlService(context: context, terminal: terminal, user: user, session: session, request: request)
    }
}

/// An action on a session.
protocol SessionCommand: ControlCommand {
    var options: SessionOptions { get }
}

extension SessionCommand {
    var user: User { options.user }
    var session: SessionID? { options.session }
    var base: BaseOptions { options.base }
}

struct SessionOptions: ParsableArguments {
    @Option(help: "Whose session it is: \(userPattern).")
    var user: User

    @Option(help: "The session's UUID; by default the user's current one, and of start a new one.")
    var session: SessionID?

    @OptionGroup(visibility: .hidden) var base: BaseOptions
}

/// An action on a user's saved plans.
protocol SavedPlansCommand: ControlCommand {
    var options: SavedPlansOptions { get }
}

extension SavedPlansCommand {
    var user: User { options.user }
    var session: SessionID? { nil }
    var base: BaseOptions { options.base }
}

struct SavedPlansOptions: ParsableArguments {
    @Option(help: "Whose plans they are: \(userPattern).")
    var user: User

    @OptionGroup(visibility: .hidden) var base: BaseOptions
}
