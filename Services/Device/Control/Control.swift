import ArgumentParser
import Foundation
import ServiceKit
import Workouts

struct Control: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Controls a session from a shell; status shows it once.",
        discussion: "Exits with 1 and the session engine's message when the engine refuses.")

    enum Action: String, CaseIterable, ExpressibleByArgument {
        case start, pause, resume, lap, suspend, end, discard, recover, status
    }

    @Argument(help: "What to do.")
    var action: Action

    @Option(help: "Whose session it is.")
    var user: User

    @Option(help: "The session, a UUID; the user's current one, for start a new one, when it is not given.")
    var session: SessionID?

    @OptionGroup(title: "Options for start") var start: StartOptions
    @OptionGroup var base: BaseOptions

    func validate() throws {
        guard action == .start || start.isEmpty else { throw ValidationError("\(action) takes no options for start") }
    }

    func run() async throws {
        try await ServiceRunner.run("device", base) { context in [build(context)] }
    }

    func build(_ context: ServiceContext, terminal: Terminal = .standard) -> ControlService {
        let request: ControlService.Request =
            switch action {
            case .start: .command(.start(start.start))
            case .pause: .command(.pause)
            case .resume: .command(.resume)
            case .lap: .command(.lap)
            case .suspend: .command(.suspend)
            case .end: .command(.end(streams: [:]))
            case .discard: .command(.discard)
            case .recover: .command(.recover)
            case .status: .status
            }
        return ControlService(
            context: context, terminal: terminal, user: user,
            session: session ?? (action == .start ? SessionID(UUID()) : nil), request: request)
    }
}

struct StartOptions: ParsableArguments {
    @Option(help: "What is done. (default: running)")
    var activity: Activity?

    @Option(help: "Where it is done; by default where the activity usually is.")
    var environment: Workouts.Environment?

    @Option(help: "The session's name; by default one made of activity and environment.")
    var name: String?

    @Option(help: "Seconds to count down; by default 3.")
    var countdown: Double?

    @Option(help: "How distances are read; by default metric.")
    var units: Units?

    @Option(help: "An IANA time zone; by default this machine's.")
    var timeZone: String?

    var isEmpty: Bool {
        activity == nil && environment == nil && name == nil && countdown == nil && units == nil && timeZone == nil
    }

    var start: SessionStart {
        SessionStart(
            activity: activity ?? .running, environment: environment, name: name, countdown: countdown, units: units,
            timeZone: timeZone ?? TimeZone.current.identifier)
    }
}
