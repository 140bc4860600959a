import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import MQTT
import NIOCore
import NIOEmbedded
import ServiceKit
import Synchronization
import TestSupport
import Workouts

@testable import Dashboard

/// A dashboard in this process, without a port: its routes, with passwords that a test defines.
struct Site {
    /// Their passwords are their names.
    static let accounts: Set = ["anna", "ben", "coach", "_operator"]

    let logins: LoginService
    let clock: any WallClock
    let configuration: DashboardConfiguration
    /// Removed with its last reference.
    private let webFolder: TemporaryFolder
    private let responder: RouterResponder<DashboardContext>

    /// - Parameters:
    ///   - isReady: whether it is known which logins have ended.
    ///   - settings: changes of the settings.
    ///   - check: the broker's answer about a password.
    init(
        clock: any WallClock = SystemClock(), isReady: Bool = true,
        settings: (inout DashboardConfiguration) -> Void = { _ in },
        check: @escaping @Sendable (User, Secret) async -> PasswordCheck.Answer = Site.check
    ) throws {
        webFolder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: webFolder.file("pages"), withIntermediateDirectories: true)
        for name in [
            "account", "compare", "history", "home", "import", "live", "login", "missing", "operator", "pair", "plan",
            "plans",
            "run", "runs", "workout",
        ] {
            try webFolder.write("<title>\(name)", to: "pages/\(name).html")
        }
        try webFolder.write("test\n", to: "version")
        try webFolder.write("'sha256-a' 'sha256-b'\n", to: "inline")
        var configuration = DashboardConfiguration()
        configuration.webFolder = webFolder.path
        settings(&configuration)
        logins = LoginService(
            cookies: LoginCookies(keys: configuration.loginKeys, isSecure: configuration.isSecure), clock: clock,
            logger: .silent, onRefusal: {}, check: check)
        self.clock = clock
        self.configuration = configuration
        responder = DashboardRouter(
            logins: logins, files: WebFiles(folder: webFolder.path), configuration: configuration, clock: clock,
            connections: Connections(proxy: configuration.trustedProxy), partitions: 1
        ).build().buildResponder()
        if isReady { try begin() }
    }

    /// session-engine is online, and the broker has sent all that it retains.
    func begin() throws {
        let presence = MQTTMessage(
            topic: "pacebus/v1/services/_session-engine/session-engine-0123456789abcdef",
            payload: Array(#"{"status":"online","at":1}"#.utf8), qos: .atMostOnce)
        try logins.receive(presence, clock.moment)
        logins.receivedRetained()
        logins.tick(clock.moment)
    }

    @Sendable static func check(_ account: User, _ password: Secret) async -> PasswordCheck.Answer {
        accounts.contains("\(account)") && password.value == "\(account)" ? .accepted : .refused
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

    /// A browser with a login.
    static func with(_ account: String, _ site: Site, peer: String? = nil) async throws -> Browser {
        let browser = Browser(site, peer: peer)
        _ = try await browser.logIn(account)
        return browser
    }

    func logIn(_ account: String, _ password: String? = nil, site: String? = "same-origin") async throws -> Answer {
        try await send(
            .post, "/login", [.contentType: "application/x-www-form-urlencoded"],
            "name=\(account)&password=\(password ?? account)", site: site)
    }

    func pair(_ token: String, _ rest: String = "", site: String? = "same-origin") async throws -> Answer {
        try await send(
            .post, "/pair", [.contentType: "application/x-www-form-urlencoded"], "token=\(token)\(rest)", site: site)
    }

    func logOut() async throws -> Answer { try await send(.post, "/logout") }

    /// The account of `/me`; `nil` without a login.
    func account() async throws -> String? {
        struct Reader: Decodable { let user: String }
        let answer = try await fetch("/me")
        guard answer.status == 200 else { return nil }
        return try JSONDecoder().decode(Reader.self, from: Data(try await answer.text().utf8)).user
    }

    func open(_ path: String) async throws -> Answer { try await send(.get, path, [.secFetchMode: "navigate"]) }

    func fetch(_ path: String) async throws -> Answer { try await send(.get, path, [.secFetchMode: "cors"]) }

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

struct Answer {
    let status: Int
    let headers: HTTPFields
    private let body: ResponseBody

    init(_ response: Response) {
        status = response.status.code
        headers = response.headers
        body = response.body
    }

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
