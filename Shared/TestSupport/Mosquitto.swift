import Foundation
import Synchronization

/// A mosquitto process for one test: on a free loopback port that it keeps over restarts, with its files in a temporary
/// folder. Its limits exceed the windows of Pacebus's clients. It stores nothing by default.
package final class Mosquitto: Sendable {
    package struct Settings: Sendable {
        /// Additional lines for `mosquitto.conf`.
        package var lines: [String] = []
        /// Passwords by user name. Without any, anonymous access is allowed.
        package var users: [String: String] = [:]
        /// The text of the access file.
        package var accessRules: String?
        /// Whether sessions and retained messages survive ``stop()``.
        package var isPersistent = false

        package init() {}
    }

    package let port: UInt16
    package let folder: TemporaryFolder
    private let process = Mutex<ChildProcess?>(nil)

    /// Starts the broker and waits until it accepts connections.
    package init(_ settings: Settings = Settings()) async throws {
        folder = try TemporaryFolder()
        port = try LoopbackSocket.freePort()
        // As root, mosquitto would switch to a user without access to the folder.
        var lines = ["user root", "listener \(port) 127.0.0.1"]
        lines += ["max_inflight_messages 10000", "max_queued_messages 1000000", "set_tcp_nodelay true"]
        lines += ["log_dest stdout", "log_type error", "log_type warning", "log_type notice"]
        lines.append("persistence \(settings.isPersistent)")
        if settings.isPersistent { lines.append("persistence_location \(folder.path)/") }
        lines.append("allow_anonymous \(settings.users.isEmpty)")
        if !settings.users.isEmpty {
            let passwords = settings.users.map { "\($0.key):\($0.value)\n" }.sorted().joined()
            let file = try folder.write(passwords, to: "passwords")
            try await ChildProcess.run(["mosquitto_passwd", "-U", file], log: folder.file("passwd.log"))
            lines.append("password_file \(file)")
        }
        if let rules = settings.accessRules {
            lines.append("acl_file \(try folder.write(rules, to: "access"))")
        }
        lines += settings.lines
        try folder.write(lines.joined(separator: "\n") + "\n", to: "mosquitto.conf")
        try await start()
    }

    /// Starts the broker again on the same port after ``kill()`` or ``stop()``.
    package func start() async throws {
        let child = try ChildProcess(
            ["mosquitto", "-c", folder.file("mosquitto.conf")], log: folder.file("mosquitto.log"))
        process.withLock { $0 = child }
        guard await eventually({ LoopbackSocket.accepts(port: port) }) else {
            throw ChildProcess.Failure(text: "mosquitto does not listen: \(log)")
        }
    }

    /// Sends SIGKILL. The broker loses everything that it has not stored.
    package func kill() {
        process.withLock { $0.take() }?.end(SIGKILL)
    }

    /// Stops the broker with SIGTERM. mosquitto 2.0 ignores one that arrives after it has begun to listen and before its
    /// main loop, so the signal is repeated every second.
    package func stop() {
        guard let child = process.withLock({ $0.take() }) else { return }
        repeat { child.send(SIGTERM) } while !child.ends(within: .seconds(1))
    }

    /// Freezes the broker with SIGSTOP, which keeps its sockets open and silent, or continues it.
    package func freeze(_ isFrozen: Bool) {
        process.withLock { $0?.send(isFrozen ? SIGSTOP : SIGCONT) }
    }

    package var log: String {
        (try? String(contentsOfFile: folder.file("mosquitto.log"), encoding: .utf8)) ?? ""
    }
}
