package import Foundation
import Synchronization

/// A process that a test started. It is ended by its own id.
package final class ChildProcess: Sendable {
    package let id: Int32
    private let exitStatus = Mutex<Int32?>(nil)

    package struct Failure: Error {
        package var text: String
    }

    /// Starts a program from the path. Its output goes to the file `log`.
    package init(_ arguments: [String], log: String) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // The child must not inherit sockets of a client under test: their peers would never see them close.
        for descriptor in 3..<Int32(4_096) { posix_spawn_file_actions_addclose(&actions, descriptor) }
        // A pool thread may block signals. A child that inherits the mask would never receive SIGTERM.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var id: Int32 = 0
        let code = posix_spawnp(&id, arguments[0], &actions, &attributes, &pointers, environ)
        guard code == 0 else { throw Failure(text: "\(arguments[0]): \(String(cString: strerror(code)))") }
        self.id = id
    }

    deinit {
        end(SIGKILL)
    }

    /// Sends a signal unless the process has ended, and waits for its end. Blocks the thread: unsuitable for a process
    /// that takes long to end.
    package func end(_ signal: Int32) {
        send(signal)
        _ = wait()
    }

    /// Waits for the process to end by itself, and returns whether it has.
    func ends(within limit: Duration) -> Bool {
        let deadline = ContinuousClock.now + limit
        while true {
            var ended = siginfo_t()
            waitid(P_PID, id_t(id), &ended, WEXITED | WNOWAIT | WNOHANG)
            if ended.si_signo != 0 {
                _ = wait()
                return true
            }
            if ContinuousClock.now >= deadline { return false }
            usleep(2_000)
        }
    }

    /// Sends a signal that the process survives, such as SIGSTOP.
    package func send(_ signal: Int32) {
        exitStatus.withLock { status in
            // The id stays reserved until the status is collected.
            if status == nil { kill(id, signal) }
        }
    }

    /// Waits for the process to end by itself and returns its exit status. Cancellation ends the process.
    package func finish() async -> Int32 {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The concurrency pool has few threads, and the child may depend on them.
                Thread { continuation.resume(returning: self.wait()) }.start()
            }
        } onCancel: {
            send(SIGKILL)
        }
    }

    private func wait() -> Int32 {
        // Any number of threads may wait here; one of them collects the status.
        var ended = siginfo_t()
        while waitid(P_PID, id_t(id), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR {}
        return exitStatus.withLock { taken in
            if let taken { return taken }
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0 && errno == EINTR {}
            let exitStatus = (status >> 8) & 0xFF
            taken = exitStatus
            return exitStatus
        }
    }

    /// Runs a program to its end without blocking a thread, and returns its standard output. A failure also has what it wrote to
    /// its standard error.
    package static func output(of arguments: [String]) async throws -> Data {
        let folder = try TemporaryFolder()
        let (output, errors) = (folder.file("output"), folder.file("errors"))
        do {
            try await run(["/bin/sh", "-c", "exec \"$@\" 2>\"$0\"", errors] + arguments, log: output)
        } catch let failure as Failure {
            throw Failure(text: failure.text + ((try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""))
        }
        return try Data(contentsOf: URL(filePath: output))
    }

    /// Runs a program to its end.
    package static func run(_ arguments: [String], log: String) async throws {
        let status = try await ChildProcess(arguments, log: log).finish()
        guard status == 0 else {
            let output = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw Failure(text: "\(arguments[0]) ended with \(status): \(output)")
        }
    }
}
