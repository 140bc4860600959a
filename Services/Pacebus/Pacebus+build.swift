import ArgumentParser
import Client
import MQTT
import ServiceKit
import Workouts

/// A command that session-engine performs or answers.
protocol ControlCommand: AsyncParsableCommand {
    var user: User? { get }
    var session: SessionID? { get }
    var base: BaseOptions { get }

    /// - Throws: the first error of a file.
    func request() throws -> ControlService.Request
}

extension ControlCommand {
    func run() async throws {
        let request = try request()
        try await ServiceRunner.runCommand("pacebus", base) { context in [try build(context, request)] }
    }

    func build(
        _ context: ServiceContext, _ request: ControlService.Request, terminal: Terminal = .standard
    ) throws -> ControlService {
        ControlService(
            context: context, terminal: terminal, user: try context.user(or: user), session: session, request: request)
    }
}

extension ServiceContext {
    /// The user of `--user`, else of the broker's URL.
    func user(or named: User?) throws -> User {
        guard let user = named ?? user else {
            let account =
                configuration.mqtt.username.map { "'\($0)' is a service account" } ?? "--mqtt-url has no user"
            throw ValidationError("missing --user: \(account); use --user NAME or --mqtt-url mqtt://NAME@HOST")
        }
        return user
    }
}

/// A command on a session.
protocol SessionCommand: ControlCommand {
    var options: SessionOptions { get }
}

extension SessionCommand {
    var user: User? { options.user.user }
    var session: SessionID? { options.session }
    var base: BaseOptions { options.user.base }
}

struct SessionOptions: ParsableArguments {
    @OptionGroup var user: UserOptions

    @Option(help: "The session, a UUID. (default: the user's unfinished session; start creates one)")
    var session: SessionID?
}

/// A command on a user's saved plans, history, virtual runs or people.
protocol UserCommand: ControlCommand {
    var options: UserOptions { get }
}

extension UserCommand {
    var user: User? { options.user }
    var session: SessionID? { nil }
    var base: BaseOptions { options.base }
}

struct UserOptions: ParsableArguments {
    @Option(help: "The user: \(User.characters). (default: the user in MQTT_URL)")
    var user: User?

    @OptionGroup(visibility: .hidden) var base: BaseOptions
}
