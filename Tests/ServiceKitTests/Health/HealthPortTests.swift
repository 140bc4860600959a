import CoreMetrics
import Foundation
import FoundationNetworking
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct HealthPortTests {
    private let readiness = Readiness()
    private let clock = ManualClock()
    private let liveness: Liveness
    private let metrics = PrometheusMetrics()

    init() {
        liveness = Liveness(clock: clock)
    }

    private func get(_ path: String, port: Int) async throws -> (status: Int, type: String?, body: String) {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/\(path)"))
        let (data, response) = try await URLSession.shared.data(from: url)
        let http = try #require(response as? HTTPURLResponse)
        return (http.statusCode, http.value(forHTTPHeaderField: "Content-Type"), String(decoding: data, as: UTF8.self))
    }

    /// Runs a health port on a free port until `body` has returned, then shuts it down in order.
    private func withHealthPort(
        lifetime: Duration = .seconds(10), _ body: (Int) async throws -> Void
    ) async throws {
        let (ports, opened) = AsyncStream.makeStream(of: Int.self)
        let health = HealthPort(
            host: "127.0.0.1", port: 0, readiness: readiness, liveness: liveness, metrics: metrics, lifetime: lifetime,
            logger: .silent
        ) { opened.yield($0) }
        let group = ServiceGroup(configuration: .init(services: [health], logger: .silent))
        async let ended: Void = group.run()
        let port = try #require(await ports.first { _ in true })
        try await body(port)
        await group.triggerGracefulShutdown()
        try await ended
    }

    @Test func `livez is 200 even if nothing is ready`() async throws {
        readiness.addCheck("broker") { false }
        try await withHealthPort { port in
            let answer = try await get("livez", port: port)
            #expect(answer.status == 200)
        }
    }

    @Test func `livez names a loop that hangs, until it continues`() async throws {
        try await withHealthPort { port in
            liveness.mark("loop")
            clock.advance(by: .seconds(15))
            let hung = try await get("livez", port: port)
            #expect(hung.status == 503)
            #expect(hung.body == "hung: loop\n")
            liveness.mark("loop")
            #expect(try await get("livez", port: port).status == 200)
        }
    }

    @Test func `readyz lists the failed checks until all pass`() async throws {
        let isConnected = Mutex(false)
        readiness.addCheck("store") { true }
        readiness.addCheck("broker") { isConnected.withLock { $0 } }
        readiness.addCheck("shards") { isConnected.withLock { $0 } }
        try await withHealthPort { port in
            let before = try await get("readyz", port: port)
            #expect(before.status == 503)
            #expect(before.body == "not ready: broker\nnot ready: shards\n")
            isConnected.withLock { $0 = true }
            let after = try await get("readyz", port: port)
            #expect(after.status == 200)
            #expect(after.body == "ready\n")
        }
    }

    @Test func `readyz is 200 while one of several brokers is connected, and names the others`() async throws {
        let connected = Mutex<Set<String>>(["broker-1", "broker-2"])
        readiness.addCheck("store") { true }
        readiness.addChecks(
            oneOf: ["broker-1", "broker-2"].map { name in
                (name, { connected.withLock { $0.contains(name) } })
            })
        try await withHealthPort { port in
            #expect(try await get("readyz", port: port).body == "ready\n")
            connected.withLock { _ = $0.remove("broker-2") }
            let degraded = try await get("readyz", port: port)
            #expect(degraded.status == 200)
            #expect(degraded.body == "ready\ndegraded: broker-2\n")
            connected.withLock { $0 = [] }
            let missing = try await get("readyz", port: port)
            #expect(missing.status == 503)
            #expect(missing.body == "not ready: broker-1\nnot ready: broker-2\n")
        }
    }

    @Test func `metrics come as Prometheus text`() async throws {
        Counter(label: "pacebus_items", factory: metrics).increment(by: 7)
        try await withHealthPort { port in
            let answer = try await get("metrics", port: port)
            #expect(answer.status == 200)
            #expect(answer.type == "text/plain; version=0.0.4; charset=utf-8")
            #expect(answer.body.contains("\npacebus_items_total 7\n"))
        }
    }

    @Test func `an unknown path is 404`() async throws {
        try await withHealthPort { port in
            let answer = try await get("other", port: port)
            #expect(answer.status == 404)
        }
    }

    /// Connections that have sent some bytes.
    private func connections(_ count: Int, port: Int, sending text: String) throws -> [LoopbackConnection] {
        try (0..<count).map { _ in
            let connection = try #require(LoopbackConnection(port: UInt16(port)))
            connection.send(Array(text.utf8))
            return connection
        }
    }

    @Test(arguments: [
        "", "GET /hea", "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nx",
        "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func `clients that stay connected lock no client out`(sent: String) async throws {
        try await withHealthPort(lifetime: .seconds(1)) { port in
            let idle = try connections(3 * HealthPort.connections, port: port, sending: sent)
            // On a busy machine a request may itself outlive a connection.
            #expect(await eventually { (try? await get("livez", port: port))?.status == 200 })
            #expect(await eventually { idle.allSatisfy(\.isClosed) })
        }
    }

    @Test(arguments: ["", "GET /hea", "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"])
    func `at most 64 connections are open, and a new one closes the oldest`(sent: String) async throws {
        try await withHealthPort(lifetime: .seconds(120)) { port in
            let first = try connections(100, port: port, sending: sent)
            let request = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
            let last = try connections(1, port: port, sending: request)[0]
            #expect(await eventually(within: .seconds(10)) { last.hasInput })
            // The event loops may accept them in another order.
            let closed = 101 - HealthPort.connections
            #expect(await eventually(within: .seconds(10)) { first.count(where: \.isClosed) == closed })
        }
    }

    @Test(arguments: [("", false), ("Host: a\r\n", true), ("Host: a\r\nHost: a\r\n", false)])
    func `a request has one Host header`(headers: String, isAnswered: Bool) async throws {
        try await withHealthPort { port in
            let connection = try connections(
                1, port: port, sending: "GET /livez HTTP/1.1\r\n\(headers)Connection: close\r\n\r\n")[0]
            #expect(await eventually(within: .seconds(10)) { connection.isClosed })
            let status = connection.receive().prefix { $0 != UInt8(ascii: "\r") }
            #expect(String(decoding: status, as: UTF8.self).contains(isAnswered ? "200" : "400"))
        }
    }

    @Test func `a port in use is refused at start with the setting's name`() async throws {
        try await withHealthPort { port in
            let second = HealthPort(
                host: "127.0.0.1", port: port, readiness: readiness, liveness: liveness, metrics: metrics,
                logger: .silent)
            let error = await #expect(throws: SettingError.self) { try await second.run() }
            #expect(
                error?.description
                    == "--http-port (HTTP_PORT): cannot listen on 127.0.0.1:\(port): Address already in use")
        }
    }
}
