import ArgumentParser
import Foundation
import ServiceKit
import Workouts

@main
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "A device for workouts: plays recordings, simulates runs and controls sessions.",
        subcommands: [Replay.self, Simulate.self, Control.self])
}

/// The flags of what plays into a session.
struct PlaybackOptions: ParsableArguments {
    @Option(help: "Whose workout it is.")
    var user = User("demo")!

    @Option(help: "The session, a UUID; drawn when it is not given.")
    var session: SessionID?

    @Option(help: "The device; that of the session's queue, else drawn.")
    var device: Device?

    @Option(help: "Where queues are kept until the finished workout covers them.")
    var queueFolder = "./data/device"

    @Option(help: "Times real time; 0 is as fast as the items are acknowledged.")
    var speedUp = 1.0

    func validate() throws {
        guard speedUp >= 0, speedUp.isFinite else { throw ValidationError("--speed-up: expected 0 or more") }
    }
}

struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Plays a recorded workout, with its times and pauses.")

    @Argument(help: "A FIT file.")
    var file: String

    @OptionGroup var playback: PlaybackOptions
    @OptionGroup var base: BaseOptions

    func run() async throws {
        let script = Script.recording(try RecordingFile(path: file))
        try await ServiceRunner.run("device", base) { context in [playback.build(context, script)] }
    }
}

struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Invents an outdoor run, a sample a second, until Ctrl-C ends it.")

    @Option(help: "Seconds; without it the run goes on.")
    var duration: Int?

    @Option(help: "Repeats a run; drawn when it is not given.")
    var seed: UInt64?

    @OptionGroup var playback: PlaybackOptions
    @OptionGroup var base: BaseOptions

    func validate() throws {
        guard duration ?? 0 >= 0 else { throw ValidationError("--duration: expected 0 or more") }
        guard playback.speedUp > 0 || duration != nil else {
            throw ValidationError("--speed-up 0 needs a --duration: such a run would never end")
        }
    }

    func run() async throws {
        let script = Script.simulation(seed: seed, duration: duration)
        let impatientExit = ImpatientExit()
        defer { withExtendedLifetime(impatientExit) {} }
        try await ServiceRunner.run("device", base) { context in [playback.build(context, script)] }
    }
}
