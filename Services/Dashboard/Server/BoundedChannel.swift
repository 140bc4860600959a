import HummingbirdCore
import Logging
import NIOCore
import NIOSSL
import NIOTLS
import Synchronization

/// Closes connections that would keep others out: those beyond a network's share, those whose TLS handshake takes too long,
/// and those whose browser vanished.
struct BoundedChannel<Base: ServerChildChannel>: ServerChildChannel {
    /// Linux's TCP_USER_TIMEOUT: how long what was sent may stay unacknowledged.
    private static var userTimeout: ChannelOptions.Types.SocketOption {
        ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: 18))
    }

    let base: Base
    let shares: ConnectionShares
    var handshakeTime = TimeAmount.seconds(10)

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        let address = channel.remoteAddress?.ipAddress ?? ""
        let isAdmitted = shares.begin(address)
        channel.closeFuture.whenComplete { _ in if isAdmitted { shares.end(address) } }
        let timeout = SocketOptionValue(LiveStream.writeLimit * 1_000)
        channel.setOption(Self.userTimeout, value: timeout).whenFailure { _ in channel.close(promise: nil) }
        return base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            if let tls = try? channel.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self) {
                try channel.pipeline.syncOperations.addHandler(
                    HandshakeDeadline(handshakeTime), position: .after(tls))
            }
            if !isAdmitted { channel.close(promise: nil) }
            return value
        }
    }

    func handle(value: Base.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

/// The open connections of each network. Those of this machine and of the trusted proxy are not counted.
final class ConnectionShares: Sendable {
    /// A sixth of all connections: browsers behind one address share it.
    static let limit = 500
    /// A third, for an IPv6 /48.
    static let siteLimit = 1_000

    private struct Counts {
        var networks: [ClientNetwork: Int] = [:]
        var sites: [String: Int] = [:]
    }

    private let proxy: String?
    private let counts = Mutex(Counts())

    init(proxy: String?) {
        self.proxy = proxy
    }

    /// Counts a connection. Returns `false` if it is beyond its network's share.
    func begin(_ address: String) -> Bool {
        guard let network = network(address) else { return true }
        return counts.withLock { counts in
            guard counts.networks[network] ?? 0 < Self.limit,
                network.site.flatMap({ counts.sites[$0] }) ?? 0 < Self.siteLimit
            else { return false }
            counts.networks[network, default: 0] += 1
            if let site = network.site { counts.sites[site, default: 0] += 1 }
            return true
        }
    }

    func end(_ address: String) {
        guard let network = network(address) else { return }
        counts.withLock { counts in
            Self.end(network, &counts.networks)
            if let site = network.site { Self.end(site, &counts.sites) }
        }
    }

    private static func end<Key>(_ key: Key, _ counts: inout [Key: Int]) {
        let count = (counts[key] ?? 0) - 1
        counts[key] = count > 0 ? count : nil
    }

    private func network(_ address: String) -> ClientNetwork? {
        guard let canonical = IPAddress.canonical(address), canonical != proxy, !IPAddress.isLoopback(canonical) else {
            return nil
        }
        return ClientNetwork(canonical)
    }
}

/// Closes a connection whose TLS handshake is not completed in time.
final class HandshakeDeadline: ChannelInboundHandler {
    typealias InboundIn = Any

    private let time: TimeAmount
    private var deadline: Scheduled<Void>?

    init(_ time: TimeAmount) {
        self.time = time
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { deadline?.cancel() }
        context.fireUserInboundEventTriggered(event)
    }
}
