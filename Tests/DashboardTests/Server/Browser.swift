import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import MQTT
import NIOCore
import NIOEmbedded
import ServiceKit
import Storage
import Synchronization
import TestSupport
import Workouts

@testable import Dashboard

/// A dashboard in this process, without a port: its routes on a store in memory, with passwords that a test defines.
struct Site {
    /// Whom each account may see, itself included; its password is its name.
    static let accounts: [String: Set<User>] = [
        "anna": [User("anna")!], "ben": [User("ben")!], "coach": [User("coach")!, User("anna")!], "_operator": [],
    ]

    let parts: DashboardParts
    let clock: any WallClock
    /// Removed with its last reference.
    private let webFolder: TemporaryFolder
    private let responder: RouterResponder<DashboardContext>

    /// A web folder with the repository's templates, which need no build.
    private static func makeWebFolder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let templates = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Services/Dashboard/Web/templates").standardizedFileURL.path
        try FileManager.default.copyItem(atPath: templates, toPath: folder.file("templates"))
        try folder.write("test", to: "version")
        return folder
    }

    /// Runs `body` with a site.
    ///
    /// - Parameters:
    ///   - isLoaded: whether the store's records are loaded before.
    ///   - settings: changes of the settings.
    ///   - ask: the broker's answer about a password.
    static func run(
        clock: any WallClock = SystemClock(), store: MemoryStore = .owningAll(), isLoaded: Bool = true,
        settings: (inout DashboardConfiguration, inout ServiceConfiguration) -> Void = { _, _ in },
        ask: (@Sendable (RightsProbes.Credential) async -> BrokerAccounts.Answer)? = Site.answer,
        _ body: (Site) async throws -> Void
    ) async throws {
        var service = ServiceConfiguration(name: "dashboard")
        // On the usual port a broker of this machine would refuse the passwords.
        service.mqtt.port = 1
        var configuration = DashboardConfiguration()
        let webFolder = try makeWebFolder()
        configuration.webFolder = webFolder.path
        settings(&configuration, &service)
        let context = ServiceContext(
            configuration: service, logger: .silent, bus: InMemoryBroker().client(), clock: clock)
        let parts = DashboardParts(context, configuration, store: store, ask: ask)
        let site = Site(
            parts: parts, clock: clock, webFolder: webFolder,
            responder: DashboardRouter.build(parts).buildResponder())
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await parts.records.run() }
            tasks.addTask { try await parts.logins.run() }
            tasks.addTask { try await parts.connections.run(onRefused: parts.logins.refused) }
            if isLoaded {
                for await change in store.ownership {
                    if case .gained(let epochs) = change { try await parts.own(epochs) }
                    break
                }
            }
            try await body(site)
            parts.records.stop()
            tasks.cancelAll()
        }
    }

    @Sendable static func answer(_ credential: RightsProbes.Credential) async -> BrokerAccounts.Answer {
        guard let seen = accounts["\(credential.account)"], credential.password.value == "\(credential.account)" else {
            return .refused
        }
        return .accepted(AccountRights(seen: seen, isViewer: credential.account == AccountName("coach")))
    }

    fileprivate func respond(to head: HTTPRequest, _ body: String, peer: String?) async throws -> Response {
        var context = DashboardContext(
            source: ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: .silent))
        context.peer = peer
        return try await responder.respond(
            to: Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body))), context: context)
    }
}

/// A browser: it keeps cookies and sends the headers of its requests.
final class Browser {
    let site: Site
    private(set) var cookies: [String: String]
    /// The address of the browser, or of its proxy.
    var peer: String?
    /// The host in the browser's address bar.
    var authority = "127.0.0.1:8080"

    init(_ site: Site, cookies: [String: String] = [:], peer: String? = nil) {
        self.site = site
        self.cookies = cookies
        self.peer = peer
    }

    /// A browser with a login, unless `account` is `nil`.
    static func with(_ account: String?, _ site: Site, peer: String? = nil) async throws -> Browser {
        let browser = Browser(site, peer: peer)
        if let account { _ = try await browser.post("/login", form: ["name": account, "password": account]) }
        return browser
    }

    func open(_ path: String) async throws -> Answer { try await send(.get, path, [.secFetchMode: "navigate"]) }

    func fetch(_ path: String) async throws -> Answer { try await send(.get, path, [.secFetchMode: "cors"]) }

    func post(_ path: String, form: [String: String], site: String? = "same-origin") async throws -> Answer {
        let text = form.map { "\($0.key)=\($0.value.encodedForQuery)" }.joined(separator: "&")
        return try await send(.post, path, [.contentType: "application/x-www-form-urlencoded"], text, site: site)
    }

    func post(_ path: String, json: String) async throws -> Answer {
        try await send(.post, path, [.contentType: "application/json"], json)
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields = [:], _ body: String = "",
        site origin: String? = "same-origin"
    ) async throws -> Answer {
        var head = HTTPRequest(
            method: method, scheme: "http", authority: authority, path: path, headerFields: fields)
        if let origin { head.headerFields[.secFetchSite] = origin }
        if !cookies.isEmpty {
            head.headerFields[.cookie] = cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
        }
        let response = try await site.respond(to: head, body, peer: peer)
        for cookie in response.headers[values: .setCookie] {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(String.init)
            cookies[pair[0]] = pair.count > 1 ? pair[1] : nil
        }
        return Answer(response)
    }
}

/// A response without its body, which may be endless.
struct Answer {
    let status: Int
    let headers: HTTPFields
    private let body: ResponseBody

    init(_ response: Response) {
        status = response.status.code
        headers = response.headers
        body = response.body
    }

    var location: String? { headers[.location] }

    func text() async throws -> String {
        let collected = Collected()
        try await body.write(CollectingWriter(collected: collected))
        return collected.text.withLock(\.self)
    }

    private final class Collected: Sendable {
        let text = Mutex("")
    }

    private struct CollectingWriter: ResponseBodyWriter {
        let collected: Collected

        mutating func write(_ buffer: ByteBuffer) async throws {
            collected.text.withLock { $0 += String(buffer: buffer) }
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
}
