import HTTPTypes
import MQTT
import NIOCore
import NIOPosix
import NIOSSL
import ServiceKit
import Synchronization
import Workouts

/// What the connections at `/mqtt` share: the brokers, the logins, and who is connected.
final class BusServer: Sendable {
    /// Of one account with cookies: more than anyone's tabs.
    static let accountLimit = 50

    let logins: LoginService
    let connections: Connections
    let metrics: DashboardMetrics
    let clock: any WallClock
    private let own: @Sendable (HTTPRequest) -> String
    private let origins: Origins
    private let brokers: [MQTTConfiguration]
    private let tls: NIOSSLContext?
    private let pages = Mutex<[ObjectIdentifier: (login: Login, channel: any Channel)]>([:])

    /// - Parameter own: the origin of the dashboard's pages, for a request.
    /// - Throws: if the broker's authorities cannot be read.
    init(
        logins: LoginService, connections: Connections, metrics: DashboardMetrics, clock: any WallClock,
        brokers: MQTTConfiguration, origins: Origins,
        own: @escaping @Sendable (HTTPRequest) -> String
    ) throws {
        self.logins = logins
        self.connections = connections
        self.metrics = metrics
        self.clock = clock
        self.own = own
        self.origins = origins
        self.brokers = brokers.partitions
        tls = try brokers.tls.map { settings in
            var tls = NIOSSL.TLSConfiguration.makeClientConfiguration()
            tls.minimumTLSVersion = .tlsv12
            if let file = settings.caFile { tls.trustRoots = .file(file) }
            return try NIOSSLContext(configuration: tls)
        }
    }

    /// Accepts a handshake of the dashboard's pages, of allowed origins, and of clients that are no browsers. Only the own pages
    /// may use their cookie: a browser sends it with another site's handshake too.
    ///
    /// - Returns: the login that the cookie holds; `nil` refuses the handshake.
    func accept(_ head: HTTPRequest) -> LoginService.Cookie? {
        let origins = head.headerFields[values: .origin]
        guard origins.count <= 1 else { return nil }
        guard let origin = origins.first else { return LoginService.Cookie.none }
        if origin.lowercased() == own(head).lowercased() { return logins.login(head.headerFields) }
        guard self.origins.allows(origin) else {
            metrics.refused("origin")
            return nil
        }
        return LoginService.Cookie.none
    }

    /// Counts the connection of a page. Returns `false` if the account has too many.
    func open(_ login: Login, _ channel: any Channel) -> Bool {
        let isOpen = pages.withLock { pages in
            let count = pages.values.count { $0.login.account == login.account }
            guard count < Self.accountLimit else { return false }
            pages[ObjectIdentifier(channel)] = (login, channel)
            return true
        }
        guard isOpen else { return false }
        channel.closeFuture.whenComplete { [self] _ in
            _ = pages.withLock { $0.removeValue(forKey: ObjectIdentifier(channel)) }
        }
        return true
    }

    /// Ends the connections whose login has ended.
    func close(of account: User) {
        let ended = pages.withLock { pages in
            pages.values.filter { $0.login.account == account && logins.hasEnded($0.login) }
        }
        for page in ended { page.channel.pipeline.fireUserInboundEventTriggered(LoginEnded()) }
    }

    /// Connects to the broker that has the account's topics, or to another one that the client names.
    func connect(
        for account: String, partition: Int?, on loop: any EventLoop,
        _ initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<any Channel> {
        let own = Partition.index(of: account, among: brokers.count)
        let broker = brokers[partition.flatMap { brokers.indices.contains($0) ? $0 : nil } ?? own]
        return ClientBootstrap(group: loop)
            .connectTimeout(.seconds(5))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelInitializer { [tls] channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let tls else { return }
                    let isAddress = IPAddress.canonical(broker.host) != nil
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : broker.host))
                }.flatMap { initialize(channel) }
            }
            .connect(host: broker.host, port: Int(broker.port))
    }
}

/// Tells a connection that its login is over.
struct LoginEnded: Sendable {}
