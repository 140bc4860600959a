import Bus
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MQTT
import NIOCore
import ServiceKit
import Storage
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
    /// The replies to questions, by type.
    private let answers = Mutex<[String: String]>([:])
    /// The outcomes by id, for presses that are posted again.
    private let replies = Mutex<[String: Bool]>([:])
    private let broker = Mutex(BrokerModel())

    private init(_ change: (inout DashboardConfiguration) -> Void) throws {
        var configuration = DashboardConfiguration()
        configuration.webFolder = Self.webFolder ?? ""
        change(&configuration)
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "dashboard"), logger: .silent, bus: InMemoryBroker().client())
        parts = DashboardParts(context, configuration, store: MemoryStore.owningAll()) { credential in
            switch credential.password.value {
            case HeaderLogin.password: .accepted(HeaderLogin.rights(of: credential.account))
            case "unavailable": .unavailable
            default: .refused
            }
        }
        parts.hub.connected()
    }

    /// Serves while `body` runs.
    static func run(
        settings: (inout DashboardConfiguration) -> Void = { _ in },
        _ body: @Sendable @escaping (_ url: String) async throws -> Void
    ) async throws {
        let server = try PageServer(settings)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: server.router, server: try server.parts.configuration.server,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) }, logger: .silent)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await application.run() }
            tasks.addTask { try await server.parts.records.run() }
            for await change in server.parts.store.ownership {
                if case .gained(let epochs) = change { try await server.parts.own(epochs) }
                break
            }
            tasks.addTask {
                while !Task.isCancelled {
                    server.parts.hub.tick()
                    server.parts.operators.tick()
                    // A broker sends what it retains to new subscriptions.
                    if server.parts.hub.takeSubscriptionChange() {
                        server.deliver(server.broker.withLock(\.retained))
                        server.parts.hub.subscriptionChangeGranted()
                    }
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
        router.add(middleware: HeaderLogin(logins: parts.logins))
        DashboardRouter.addPageRoutes(to: router, parts)
        DashboardRouter.addStreamRoutes(to: router, parts)
        DashboardRouter.addOperatorRoutes(to: router, parts)
        DashboardRouter.addAssetRoutes(to: router, parts.assets)
        DashboardRouter.addLoginRoutes(to: router, parts)
        for path: RouterPath in ["commands", "live/:user/:session/commands", "virtual-runs/requests"] {
            router.post(path) { [self] request, _ in
                let body = try await request.body.collect(upTo: 64 * 1024)
                presses.withLock { $0.append(body) }
                let id = try JSONDecoder().decode(Identified.self, from: Data(body.readableBytesView)).id
                if replies.withLock({ $0[id] }) == true { return Self.json(#"{"done":true}"#) }
                return Self.json(#"{"pending":true}"#, .accepted)
            }
        }
        router.get("plans.json") { _, _ in Self.json("[]") }
        router.post("virtual-runs/reads") { [self] request, _ in
            let body = try await request.body.collect(upTo: 64 * 1024)
            let type = try JSONDecoder().decode(Question.self, from: Data(body.readableBytesView)).type
            return Self.json(#"{"done":true,"reply":\#(answers.withLock { $0[type] } ?? "{}")}"#)
        }
        addTestRoutes(to: router)
        return router
    }

    private struct Question: Decodable { let type: String }

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
            broker.withLock { broker in
                for var message in messages {
                    message.retain = true
                    broker.publish(message)
                }
            }
            deliver(messages)
            return Self.json("{}")
        }
        router.post("test/answers") { [self] request, _ in
            let body = try await request.body.collect(upTo: 1024 * 1024)
            let new = try JSONDecoder().decode([String: String].self, from: Data(body.readableBytesView))
            answers.withLock { $0 = new }
            return Self.json("{}")
        }
        router.post("test/reply") { [self] request, _ in
            let body = try await request.body.collect(upTo: 64 * 1024)
            let reply = try JSONDecoder().decode(Identified.self, from: Data(body.readableBytesView))
            replies.withLock { $0[reply.id] = reply.ok }
            parts.hub.reply(Array(body.readableBytesView), to: HeaderLogin.athlete)
            return Self.json("{}")
        }
        router.get("test/errors/:status") { _, context -> Response in
            throw HTTPError(.init(code: context.parameters.get("status").flatMap { Int($0) } ?? 500))
        }
        // A press without a reply: there is no broker.
        router.post("test/unanswered") { [self] _, context in
            guard let login = context.login, let session = SessionID("0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07") else {
                throw HTTPError(.unauthorized)
            }
            _ = await parts.connections.perform(.command(session, .pause), id: CommandID(UUID()), age: 0, for: login)
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

    private func deliver(_ messages: some Sequence<MQTTMessage>) {
        _ = parts.hub.receive(Array(messages)) + parts.history.receive(Array(messages))
        parts.operators.connection.receive(Array(messages))
    }

    private static func json(_ text: String, _ status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

/// Signs in the account that the header names: `coach` sees five people, `trainer` twenty runners, others see
/// themselves.
private final class HeaderLogin: RouterMiddleware {
    static let athlete = User("anna")!
    static let password = "the header's"

    private let logins: LoginService
    private let tokens = Mutex<[AccountName: LoginToken]>([:])

    init(logins: LoginService) {
        self.logins = logins
    }

    static func rights(of account: AccountName) -> AccountRights {
        let runners = (1...20).map { "runner-\($0 < 10 ? "0" : "")\($0)" }
        let seen =
            [
                "coach": ["coach", "anna", "ben", "carla", "dora", "emil"],
                "trainer": ["trainer"] + runners,
            ]["\(account)"] ?? ["\(account)"]
        return AccountRights(seen: Set(seen.compactMap { User($0) }), isViewer: seen.count > 1)
    }

    func handle(
        _ request: Request, context: DashboardContext,
        next: @concurrent (Request, DashboardContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        if let name = request.headers[HTTPField.Name("Test-Login")!], let account = AccountName(name) {
            context.login = await login(account)
        }
        return try await next(request, context)
    }

    /// A logout ends the login: the next request begins another.
    private func login(_ account: AccountName) async -> Login? {
        if let token = tokens.withLock({ $0[account] }), let login = await logins.login(token) { return login }
        let answer = await logins.logIn("\(account)", Self.password, from: ClientNetwork("127.0.0.1"), browser: nil)
        guard case .accepted(let token, _) = answer else { return nil }
        tokens.withLock { $0[account] = token }
        return await logins.login(token)
    }
}
