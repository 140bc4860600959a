import ArgumentParser
import Formats
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

@main
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "A device for workouts: plays recordings, simulates runs and controls sessions.",
        subcommands: [Replay.self, Simulate.self, Control.self])

    static func main() async {
        do {
            await main(try Control.arranged(Array(CommandLine.arguments.dropFirst())))
        } catch {
            exit(withError: error)
        }
    }
}

/// What the name of a user is made of, for help texts.
let userPattern = "lowercase letters, digits, - and _, at most 64"

/// The flags of what plays into a session.
struct PlaybackOptions: ParsableArguments {
    @Option(help: "Whose workout it is: \(userPattern).")
    var user = User("demo")!

    @Option(help: "The session's UUID; drawn when it is not given.")
    var session: SessionID?

    @Option(
        help:
            "The device's name, lowercase letters, digits and dashes; by default that of the session's queue, else drawn."
    )
    var device: Device?

    @Flag(help: "Takes part in the --session that another device starts, pauses and ends.")
    var join = false

    @Option(help: "Where queues are kept until the finished workout covers them.")
    var queueFolder = "./data/device"

    @Option(help: "Times real time, 0 or more; 0 is as fast as the items are acknowledged.")
    var speedUp = 1.0

    func validate() throws {
        guard speedUp >= 0, speedUp.isFinite else { throw ValidationError("--speed-up: expected 0 or more") }
        guard !join || session != nil else { throw ValidationError("--join: needs the --session to take part in") }
    }
}

struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Plays a recorded workout, with its times and pauses.")

    @Argument(help: "A FIT, GPX or TCX file.")
    var file: String

    @Flag(help: "Samples carry no distance, as of a device that only knows where it is.")
    var withoutDistance = false

    @OptionGroup var playback: PlaybackOptions
    @OptionGroup var base: BaseOptions

    func run() async throws {
        let script = PlaybackScript.recording(try RecordingFile(path: file, withoutDistance: withoutDistance))
        try await ServiceRunner.run("device", base) { context in [playback.build(context, script)] }
    }
}

struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Invents an outdoor run, or a fleet of runners, until Ctrl-C ends it.",
        discussion: """
            With --devices, runner-0001, runner-0002 and so on run at once over one connection, each in a session of its \
            own; the broker's account must be allowed to act for them. Nothing of it is kept on disk.
            """)

    @Option(help: "Whole seconds, 0 or more; without it the run goes on.")
    var duration: Int?

    @Option(help: "Samples a second, 0.001 to 1000.")
    var rate = 1.0

    @Option(help: "A whole number: the same one gives the same run; drawn when it is not given.")
    var seed: UInt64?

    @Option(help: "How many runners there are, 1 to 100000, each a user of its own.")
    var devices: Int?

    @OptionGroup var playback: PlaybackOptions
    @OptionGroup var base: BaseOptions

    func validate() throws {
        guard duration ?? 0 >= 0 else { throw ValidationError("--duration: expected 0 or more") }
        guard (0.001...1_000).contains(rate) else { throw ValidationError("--rate: expected 0.001 to 1000") }
        guard playback.speedUp > 0 || duration != nil else {
            throw ValidationError("--speed-up 0 needs a --duration: such a run would never end")
        }
        if let devices {
            guard (1...100_000).contains(devices) else { throw ValidationError("--devices: expected 1 to 100000") }
            guard playback.session == nil else {
                throw ValidationError("--devices: each has a session of its own, there is no --session to be given")
            }
        }
    }

    func run() async throws {
        let impatientExit = ImpatientExit()
        defer { withExtendedLifetime(impatientExit) {} }
        // Longer than it waits for the finished workout.
        try await ServiceRunner.run("device", base, drainLimit: .seconds(12)) { context in [build(context)] }
    }

    func build(_ context: ServiceContext) -> any Service {
        guard let devices else {
            return playback.build(context, .simulation(seed: seed, duration: duration, rate: rate))
        }
        return FleetService(
            context: context, terminal: .standard, keys: FleetService.keys(devices),
            device: playback.device ?? .newWatch(), seed: seed ?? .random(in: 0 ... .max), rate: rate,
            duration: duration, speed: playback.speedUp)
    }
}
