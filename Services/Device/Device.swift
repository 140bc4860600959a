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
        abstract: "Replays recorded workouts and simulates runs, as a watch would.",
        version: BuildInfo.version,
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

    @Flag(help: "Joins the --session of another device. That device starts, pauses and ends the session.")
    var join = false

    @Option(help: "The folder of queue files. A queue keeps every item until the finished workout contains it.")
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
        abstract: "Replays a recorded workout with its original times, pauses and laps.",
        discussion: """
            Prints the totals of the finished workout once it contains every item, and those that differ from the file's \
            own by more than 1 %, then exits. A file with several activities becomes as many workouts, one after the \
            other. A file that is cut off is replayed up to the cut.
            """)

    @Argument(help: "A FIT, GPX or TCX file.")
    var file: String

    @Option(
        help: """
            The number of one activity of the file, from 1. Or the activity of a GPX track without a type, such as \
            running. Give it twice for both. (default: all of the file; a terminal asks for the activity, else other)
            """)
    var activity: [ActivityChoice] = []

    @Flag(help: "Leaves out distances, as from a device that measures positions only.")
    var withoutDistance = false

    @OptionGroup var playback: PlaybackOptions
    @OptionGroup var base: BaseOptions

    func validate() throws {
        if let number, number < 1 {
            throw ValidationError("invalid --activity '\(number)'; allowed: 1 or more, or an activity")
        }
        guard activity.count <= (number == nil ? 0 : 1) + (kind == nil ? 0 : 1) else {
            throw ValidationError("--activity takes one number and one activity at most")
        }
    }

    private var number: Int? { activity.lazy.compactMap(\.number).first }
    private var kind: Activity? { activity.lazy.compactMap(\.kind).first }

    func run() async throws {
        let scripts = try scripts(asking: ActivityQuestion.atTerminal)
        try await ServiceRunner.runCommand("device", base) { context in [playback.build(context, scripts)] }
    }

    /// The chosen activities of the file.
    ///
    /// - Parameter question: asks for the activity of a track without a type; `nil` if the input is no terminal.
    func scripts(asking question: ActivityQuestion? = nil) throws -> [PlaybackScript] {
        var files = try RecordingFile.all(path: file, withoutDistance: withoutDistance, unnamed: kind)
        let isNamed = files.allSatisfy(\.namesActivity)
        if let kind, isNamed {
            throw ValidationError(
                "--activity \(kind.rawValue) does not apply: \(file) names its activity, "
                    + files[0].recording.activity.rawValue)
        }
        if kind == nil, !isNamed, let answer = question?.answer(file) {
            files = try RecordingFile.all(path: file, withoutDistance: withoutDistance, unnamed: answer)
        }
        if let number {
            guard number <= files.count else {
                throw ValidationError("no activity \(number) in \(file); allowed: 1 to \(files.count)")
            }
            return [.recording(files[number - 1])]
        }
        guard !playback.join || files.count == 1 else {
            throw ValidationError(
                "--join requires --activity, 1 to \(files.count): \(file) has \(files.count) activities")
        }
        return files.map(PlaybackScript.recording)
    }
}

struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Simulates an outdoor run, or many runners, until Ctrl-C ends the sessions.",
        discussion: """
            With --devices, the users runner-0001, runner-0002 and so on run at the same time over one connection. Each \
            has its own session, and none has a queue file. The broker account must be _simulator, which may act for \
            every user.

            With --virtual-run, the device prints the gaps to the other runners and sends every 2 s, below 20 % battery \
            every 5 s.
            """)

    @Option(help: "Whole seconds, 0 or more. (default: until Ctrl-C)")
    var duration: Int?

    @Option(help: "Samples a second, 0.001 to 1000.")
    var rate = 1.0

    @Option(help: "A whole number; the same seed gives the same run. (default: random)")
    var seed: UInt64?

    @Option(help: "The number of runners, 1 to 100000. (default: one run of --user)")
    var devices: Int?

    @Option(
        help: """
            The virtual run to take part in, a UUID. The device confirms, starts with the others and ends at the goal.
            """)
    var virtualRun: RunID?

    @Flag(help: "Accepts the invitation to --virtual-run. Without it, the device waits until the user accepts.")
    var accept = false

    @Option(
        help: """
            With --devices, puts the runners into virtual runs of this size, 2 to \(RunSettings.runners.upperBound). \
            (default: none)
            """)
    var runSize: Int?

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
                throw ValidationError("--session does not apply to --devices: each runner has its own session")
            }
        }
        try validateRun()
    }

    private func validateRun() throws {
        if virtualRun != nil {
            guard devices == nil else {
                throw ValidationError("--virtual-run does not apply to --devices; use --run-size")
            }
            guard playback.session == nil, !playback.join else {
                throw ValidationError("--session and --join do not apply to --virtual-run: the run names the session")
            }
        } else if accept {
            throw ValidationError("--accept requires --virtual-run: the UUID of the run to accept")
        }
        guard let runSize else { return }
        guard let devices else { throw ValidationError("--run-size requires --devices: the number of runners") }
        guard RunSettings.runners.contains(runSize), runSize <= devices else {
            throw ValidationError(
                "invalid --run-size '\(runSize)'; allowed: 2 to \(RunSettings.runners.upperBound), at most --devices")
        }
    }

    func run() async throws {
        // Longer than the playback waits for the finished workout.
        try await ServiceRunner.runCommand("device", base, drainLimit: .seconds(12)) { context in [build(context)] }
    }
}
