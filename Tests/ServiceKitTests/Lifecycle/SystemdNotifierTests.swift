import Glibc
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct SystemdNotifierTests {
    private let clock = ManualClock()
    private let liveness: Liveness
    private let readiness = Readiness()
    private let start = AsyncStream<Never>.makeStream()

    init() {
        liveness = Liveness(clock: clock)
    }

    private func notifier(_ environment: [String: String]) -> SystemdNotifier? {
        SystemdNotifier(
            environment: environment, liveness: liveness, readiness: readiness, clock: clock, start: start.stream)
    }

    @Test func `without a socket in the environment there is no notifier`() {
        #expect(notifier([:]) == nil)
        #expect(notifier(["NOTIFY_SOCKET": ""]) == nil)
    }

    @Test func `the watchdog hears of it twice in its time, and the status is at most 5 s old`() throws {
        let fast = try #require(notifier(["NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "4000000"]))
        #expect(fast.interval == .seconds(2))
        let slow = try #require(notifier(["NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "20000000"]))
        #expect(slow.interval == .seconds(5))
        #expect(try #require(notifier(["NOTIFY_SOCKET": "/run/x"])).interval == .seconds(5))
    }

    @Test(arguments: [false, true])
    func `systemd hears of start, steps, status and stop, and of no step of a loop that hangs`(isAbstract: Bool)
        async throws
    {
        let folder = try TemporaryFolder()
        let path = isAbstract ? "@pacebus\(folder.path)" : folder.file("notify")
        let socket = try NotifySocket(path)
        liveness.mark("loop")
        let broker = Broker()
        readiness.addCheck("broker") { broker.isConnected.load(ordering: .relaxed) }
        let started = try #require(notifier(["NOTIFY_SOCKET": path]))
        let group = ServiceGroup(configuration: .init(services: [started], logger: .silent))
        async let run: Void = group.run()
        start.continuation.finish()
        #expect(await socket.next() == "READY=1")
        #expect(await socket.next() == "WATCHDOG=1")
        #expect(await socket.next() == "STATUS=not ready: broker")
        broker.isConnected.store(true, ordering: .relaxed)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(await socket.next() == "WATCHDOG=1")
        #expect(await socket.next() == "STATUS=ready")
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(10))
        #expect(await socket.next() == "STATUS=ready")
        liveness.mark("loop")
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(await socket.next() == "WATCHDOG=1")
        #expect(await socket.next() == "STATUS=ready")
        await group.triggerGracefulShutdown()
        #expect(await socket.next() == "STOPPING=1")
        try await run
    }

    @Test func `a process that ends before it has started does not say that it has`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("notify")
        let socket = try NotifySocket(path)
        let starting = try #require(notifier(["NOTIFY_SOCKET": path]))
        let group = ServiceGroup(configuration: .init(services: [starting], logger: .silent))
        async let run: Void = group.run()
        await group.triggerGracefulShutdown()
        #expect(await socket.next() == "STOPPING=1")
        try await run
    }

    @Test func `a socket that is gone, or whose path is too long, stops nothing`() async throws {
        start.continuation.finish()
        for path in ["/nowhere/notify", String(repeating: "x", count: 200)] {
            let started = try #require(notifier(["NOTIFY_SOCKET": path]))
            let group = ServiceGroup(configuration: .init(services: [started], logger: .silent))
            async let run: Void = group.run()
            try await clock.waitForSleepers()
            await group.triggerGracefulShutdown()
            try await run
        }
    }
}

private final class Broker: Sendable {
    let isConnected = Atomic(false)
}

/// systemd's side: a socket for datagrams.
private final class NotifySocket: Sendable {
    private struct CannotBind: Error {}
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var (address, length) = try #require(SystemdNotifier.address(of: path))
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard descriptor >= 0, result == 0 else { throw CannotBind() }
    }

    deinit { close(descriptor) }

    /// The next datagram; `nil` if none comes.
    func next() async -> String? {
        var text: String?
        _ = await eventually {
            var bytes = [UInt8](repeating: 0, count: 1_000)
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return false }
            text = String(decoding: bytes[..<count], as: UTF8.self)
            return true
        }
        return text
    }
}
