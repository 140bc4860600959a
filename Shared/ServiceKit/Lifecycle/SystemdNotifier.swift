import Glibc
import ServiceLifecycle

/// Tells systemd that the process has started, that none of its loops hangs, what it is not ready for, and that it stops.
///
/// systemd kills a process that it has not heard for `WatchdogSec=`. The protocol is that of `sd_notify(3)`: a datagram of
/// lines to the socket that the environment names.
struct SystemdNotifier: Service {
    /// The path of the socket, from `NOTIFY_SOCKET`; `@` begins an abstract one.
    let socket: String
    /// How often to tell that nothing hangs: half of `WATCHDOG_USEC`, at least every 5 s, so that the status is recent.
    let interval: Duration
    let liveness: Liveness
    let readiness: Readiness
    let clock: any WallClock
    /// Ends once the process has started.
    let start: AsyncStream<Never>

    /// `nil` if the process does not run under systemd.
    init?(
        environment: [String: String], liveness: Liveness, readiness: Readiness, clock: any WallClock,
        start: AsyncStream<Never>
    ) {
        guard let socket = environment["NOTIFY_SOCKET"], !socket.isEmpty else { return nil }
        self.socket = socket
        let limit = environment["WATCHDOG_USEC"].flatMap { Int64($0) }.map { Duration.microseconds($0) }
        interval = min(.seconds(5), (limit ?? .seconds(10)) / 2)
        (self.liveness, self.readiness, self.clock, self.start) = (liveness, readiness, clock, start)
    }

    /// A service that waits for its broker has started: it has nothing to do yet, and it may hang.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in start {}
            guard !Task.isCancelled else { return }
            send("READY=1")
            repeat {
                if liveness.hung.isEmpty { send("WATCHDOG=1") }
                let missing = await readiness.report().missing
                send("STATUS=" + (missing.isEmpty ? "ready" : "not ready: " + missing.joined(separator: ", ")))
            } while (try? await clock.wait(for: interval)) != nil
        }
        send("STOPPING=1")
    }

    /// Sends without waiting. A datagram that systemd has no room for is lost: the next one follows.
    private func send(_ text: String) {
        guard let (address, length) = Self.address(of: socket) else { return }
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        withUnsafePointer(to: address) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, text, text.utf8.count, flags, $0, length)
            }
        }
    }

    /// `nil` for a path that is too long.
    static func address(of path: String) -> (sockaddr_un, socklen_t)? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return (address, socklen_t(MemoryLayout<sa_family_t>.size + bytes.count))
    }
}
