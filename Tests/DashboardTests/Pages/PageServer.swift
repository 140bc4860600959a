import Bus
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MQTT
import NIOCore
import ServiceKit
import Synchronization
import TestSupport
import Workouts

@testable import Dashboard

/// The real pages, streams and assets on the real hub. The script in the browser feeds the hub and answers presses, and a
/// header names the account that is signed in.
final class PageServer: Sendable {
    /// The folder that `compose/test` makes.
    static let webFolder = ProcessInfo.processInfo.environment["WEB_FOLDER"]

    static let hasBrowser =
        webFolder != nil && FileManager.default.fileExists(atPath: "/usr/bin/chromium")
        && !Python.lacks("playwright, axe_playwright_python")

    private let parts: DashboardParts
    private let presses = Mutex<[ByteBuffer]>([])
    /// The outcomes by id, for presses that are posted again.
    private let replies = Mutex<[String: Bool]>([:])
    private let retained = Mutex<[String: MQTTMessage]>([:])

    private init() throws {
        var configuration = DashboardConfiguration()
        configuration.webFolder = Self.webFolder ?? ""
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "dashboard"), logger: .silent, bus: InMemoryBroker().client())
        parts = try Dashboard.build(context, configuration, store: MemoryDatabase().replica()).parts
        parts.hub.connected()
    }

    /// Serves while `body` runs.
    static func run(_ body: @Sendable @escaping (_ url: String) async throws -> Void) async throws {
        let server = try PageServer()
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: server.router, server: try server.parts.configuration.server,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) }, logger: .silent)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await application.run() }
            tasks.addTask {
                while !Task.isCancelled {
                    server.parts.hub.tick()
                    // A broker sends what it retains to new subscriptions.
                    if server.parts.hub.takeSubscriptionChange() { server.deliver(server.retained.withLock(\.values)) }
                    try await server.parts.context.clock.wait(for: .milliseconds(100))
                }
            }
            for await port in ports.prefix(1) { try await body("http://127.0.0.1:\(port)") }
            tasks.cancelAll()
        }
    }

    private var router: Router<DashboardContext> {
        let router = Router(context: DashboardContext.self)
        router.add(middleware: SecurityHeaders(parts.configuration))
        router.add(middleware: HeaderLogin())
        DashboardRouter.addPageRoutes(to: router, parts)
        DashboardRouter.addStreamRoutes(to: router, parts)
        DashboardRouter.addAssetRoutes(to: router, parts.assets)
        for path: RouterPath in ["commands", "live/:user/:session/commands", "virtual-runs/requests"] {
            router.post(path) { [self] request, _ in
                let body = try await request.body.collect(upTo: 64 * 1024)
                presses.withLock { $0.append(body) }
                let id = try JSONDecoder().decode(Identified.self, from: Data(body.readableBytesView)).id
                if replies.withLock({ $0[id] }) == true { return Self.json(#"{"done":true}"#) }
                return Self.json(#"{"pending":true}"#, .accepted)
            }
        }
        addTestRoutes(to: router)
        return router
    }

    private struct Identified: Decodable {
        let id: String
        let ok: Bool?
    }

    private func addTestRoutes(to router: Router<DashboardContext>) {
        struct Message: Decodable {
            let topic: String
            let payload: String
        }
        router.post("test/messages") { [self] request, _ in
            let body = try await request.body.collect(upTo: 1024 * 1024)
            let messages = try JSONDecoder().decode([Message].self, from: Data(body.readableBytesView)).map {
                MQTTMessage(topic: $0.topic, payload: Array($0.payload.utf8), qos: .atLeastOnce)
            }
            retained.withLock { retained in
                for message in messages { retained[message.topic] = message.payload.isEmpty ? nil : message }
            }
            deliver(messages)
            return Self.json("{}")
        }
        router.post("test/reply") { [self] request, _ in
            let body = try await request.body.collect(upTo: 64 * 1024)
            let reply = try JSONDecoder().decode(Identified.self, from: Data(body.readableBytesView))
            replies.withLock { $0[reply.id] = reply.ok }
            parts.hub.reply(Array(body.readableBytesView), to: HeaderLogin.athlete)
            return Self.json("{}")
        }
        router.post("test/reset") { [self] _, _ in
            presses.withLock { $0 = [] }
            let streams = parts.hub.read { $0.streams.count }
            return Self.json(#"{"streams":\#(streams)}"#)
        }
        router.post("test/presses") { [self] _, _ in
            Self.json("[" + presses.withLock { $0.map { String(buffer: $0) } }.joined(separator: ",") + "]")
        }
    }

    private func deliver(_ messages: some Sequence<MQTTMessage>) { _ = parts.hub.receive(Array(messages)) }

    private static func json(_ text: String, _ status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

/// Signs in the account that the header names: `anna` sees five people, `coach` sees anna, others see
/// themselves.
private struct HeaderLogin: RouterMiddleware {
    static let athlete = User("anna")!

    func handle(
        _ request: Request, context: DashboardContext,
        next: @concurrent (Request, DashboardContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        if let name = request.headers[HTTPField.Name("Test-Login")!], let account = AccountName(name) {
            let seen = ["anna": ["anna", "ben", "carla", "dora", "emil"], "coach": ["coach", "anna"]][name] ?? [name]
            context.login = Login(
                id: LoginID(name), account: account, password: Secret(""), seen: Set(seen.compactMap { User($0) }))
        }
        return try await next(request, context)
    }
}
