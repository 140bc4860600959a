import ArgumentParser
import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import ServiceLifecycle
import Synchronization
import Workouts

extension Pacebus {
    /// Runs a broker of its own and plays the services on it.
    struct CheckDevice: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check-device",
            abstract: "Plays the services against a device, and reports which rules of the bus it keeps.",
            discussion: """
                Starts a broker of its own, Debian's mosquitto, and prints its address. Connect the device there, with any \
                password, and record two workouts: one of at least two minutes with an item a second, and a short one. The \
                command loses acknowledgements, leaves gaps, goes back as after a restored backup, and refuses items.

                Exits with 0 if the device keeps all rules, and with 1 if it breaks one or if not all were seen.
                """)

        @Argument(help: "The user whose device it is: \(User.characters).")
        var user: User

        @Option(help: ArgumentHelp("The address to listen on.", valueName: "address"))
        var listen = "127.0.0.1"

        @Option(help: "The port to listen on.")
        var port: UInt16 = 1884

        @Flag(help: "Check the first workout alone.")
        var once = false

        @OptionGroup(visibility: .hidden) var base: BaseOptions

        func run() async throws {
            let broker = try TemporaryBroker(listen, port)
            defer { broker.end() }
            let terminal = Terminal.standard
            terminal.status(
                """
                Connect the device to mqtt://\(user)@\(listen):\(port) with any password.
                Record a workout of at least two minutes with an item a second, and end it.

                """)
            // Those of another broker.
            for name in ["MQTT_CA_FILE", "MQTT_CERT_FILE", "MQTT_KEY_FILE", "MQTT_PASSWORD_FILE"] { unsetenv(name) }
            var base = base
            base.mqttURL = "mqtt://check-device@\(listen):\(port)"
            let result = Mutex(false)
            try await ServiceRunner.runCommand("pacebus", base) { [user, once] context in
                [
                    DeviceCheckService(
                        context: context, terminal: terminal, user: user, workouts: once ? 1 : 2,
                        onEnd: { passed in result.withLock { $0 = passed } })
                ]
            }
            guard result.withLock(\.self) else { throw ExitCode.failure }
        }
    }
}

/// mosquitto in a folder of its own, for anybody who reaches it.
private struct TemporaryBroker {
    private let process = Process()
    private let folder = FileManager.default.temporaryDirectory.appending(path: "pacebus-\(UUID().uuidString)")

    init(_ address: String, _ port: UInt16) throws {
        let paths = ["/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto"]
        guard let path = paths.first(where: FileManager.default.isExecutableFile) else {
            throw ValidationError("mosquitto not found; install it: apt-get install mosquitto")
        }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "mosquitto.conf")
        try Data("listener \(port) \(address)\nallow_anonymous true\nlog_dest stderr\n".utf8).write(to: file)
        let log = Pipe()
        process.executableURL = URL(filePath: path)
        process.arguments = ["-c", file.path(percentEncoded: false)]
        process.standardError = log
        try process.run()
        var text = ""
        while !text.contains(" running\n") {
            let read = log.fileHandleForReading.availableData
            guard !read.isEmpty else {
                end()
                let reason =
                    text.split(separator: "\n").last { $0.contains("Error: ") }
                    .map { $0.split(separator: ": ").last ?? $0 } ?? "mosquitto ended"
                throw ValidationError(
                    "cannot listen on \(address):\(port): \(reason); choose another --port or --listen")
            }
            text += String(decoding: read, as: UTF8.self)
        }
        log.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    }

    func end() {
        // It keeps nothing, and SIGTERM does not end it as a child of this process.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}

/// Runs the check on the bus and shows what it finds.
struct DeviceCheckService: Service {
    let context: ServiceContext
    let terminal: Terminal
    let user: User
    let workouts: Int
    /// Receives whether the device keeps all rules.
    let onEnd: @Sendable (Bool) -> Void

    /// Those of the workouts that were asked for.
    private var rules: [DeviceRule] { DeviceRule.allCases.filter { workouts > 1 || $0 != .streamReused } }

    func run() async throws {
        let topics = [SessionTopic.Kind.command, .samples, .locations].flatMap {
            TopicFilter.sessions($0, shards: Set(Shard.all))
        }
        var check = DeviceCheck(user: user)
        var over = 0
        _ = try await context.follow(topics) { event -> Bool? in
            let now = context.clock.now.seconds
            switch event {
            case .connected, .disconnected: return nil
            case .stop: return true
            case .message(let message): await context.send(check.receive(message, now))
            case .tick: await context.send(check.tick(now))
            }
            for rule in check.takeNews() { show(rule, check.findings[rule]) }
            guard check.workouts > over else { return nil }
            over = check.workouts
            if over == workouts { return true }
            terminal.status("Now record a second, short workout: its first stream is refused as reused.\n")
            return nil
        }
        for rule in rules where check.findings[rule] == nil { terminal.output("untested  \(rule.text)\n") }
        onEnd(
            rules.allSatisfy { rule in
                switch check.findings[rule] {
                case .pass, .slow: true
                case .fail, nil: false
                }
            })
    }

    private func show(_ rule: DeviceRule, _ finding: DeviceFinding?) {
        switch finding {
        case .pass: terminal.output("pass      \(rule.text)\n")
        case .slow(let how): terminal.output("slow      \(rule.text): \(how)\n")
        case .fail(let why): terminal.output("FAIL      \(rule.text): \(why)\n")
        case nil: break
        }
    }
}
