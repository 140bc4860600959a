import ArgumentParser
import Client
import Formats
import Foundation
import ServiceKit
import Workouts

@main
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Plays recorded or simulated workouts as a watch does.",
        version: pacebusVersion,
        subcommands: [Replay.self, Simulate.self])
}

/// The flags of a playback.
struct PlaybackOptions: ParsableArguments {
    static let defaultUser = User("demo")!

    @Option(
        help: """
            The user: \(User.characters). (default: the user in MQTT_URL, else \(defaultUser))
            """)
    var user: User?

    @Option(help: "The session, a UUID. (default: a new one)")
    var session: SessionID?

    @Option(
        help: """
            The device: lowercase letters, digits and dashes. (default: the device of the session's queue, else a new \
            watch)
            """)
    var device: Device?

    @Flag(help: "Adds to the --session of another device, which starts, pauses and ends it.")
    var join = false

    @Option(help: "The folder of queue files, which hold every item until the finished workout covers it.")
    var queueFolder = "./data/device"

    @Option(help: "Speed relative to real time, 0 or more; 0 plays as fast as items are acknowledged.")
    var speedUp = 1.0

    func validate() throws {
        guard speedUp >= 0, speedUp.isFinite else {
            throw ValidationError("invalid --speed-up '\(speedUp)'; allowed: 0 or more")
        }
        guard !join || session != nil else {
            throw ValidationError("--join requires --session: the UUID of the session to join")
        }
    }
}

struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays a recorded workout with its times and pauses.",
        discussion: "Ends when the finished workout holds every item, and prints its totals.")

    @Argument(help: "A FIT, GPX or TCX file.")
    var file: String

    @Flag(help: "Leaves out distances, as a device with positions alone does.")
    var withoutDistance = false

    @OptionGroup var playback: PlaybackOptions
    @OptionGroup var base: BaseOptions

    func run() async throws {
        let script = PlaybackScript.recording(try RecordingFile(path: file, withoutDistance: withoutDistance))
        try await ServiceRunner.runCommand("device", base) { context in [playback.build(context, script)] }
    }
}

struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Simulates an outdoor run, or many runners, until Ctrl-C ends the sessions.",
        discussion: """
            With --devices, runner-0001, runner-0002 and so on run at once over one connection, each in a session of \
            its own and without a queue file. The broker account must be _simulator, which may act for every user.
            """)

    @Option(help: "Whole seconds, 0 or more. (default: until Ctrl-C)")
    var duration: Int?

    @Option(help: "Samples a second, 0.001 to 1000.")
    var rate = 1.0

    @Option(help: "A whole number; the same seed gives the same run. (default: random)")
    var seed: UInt64?

    @Option(help: "The number of runners, 1 to 100000. (default: one run of --user)")
    var devices: Int?

    @OptionGroup var playback: PlaybackOptions
    @OptionGroup var base: BaseOptions

    func validate() throws {
        guard duration ?? 0 >= 0 else {
            throw ValidationError("invalid --duration '\(duration ?? 0)'; allowed: 0 or more")
        }
        guard (0.001...1_000).contains(rate) else {
            throw ValidationError("invalid --rate '\(rate)'; allowed: 0.001 to 1000")
        }
        guard playback.speedUp > 0 || duration != nil else {
            throw ValidationError("--speed-up 0 requires --duration: the run never ends otherwise")
        }
        if let devices {
            guard (1...100_000).contains(devices) else {
                throw ValidationError("invalid --devices '\(devices)'; allowed: 1 to 100000")
            }
            guard playback.session == nil else {
                throw ValidationError("--session does not apply to --devices: each runner has a session of its own")
            }
        }
    }

    func run() async throws {
        // Longer than the playback waits for the finished workout.
        try await ServiceRunner.runCommand("device", base, drainLimit: .seconds(12)) { context in [build(context)] }
    }
}
