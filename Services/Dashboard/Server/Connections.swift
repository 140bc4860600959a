import DequeModule
import HummingbirdCore
import Logging
import NIOCore
import NIOSSL
import ServiceKit
import Synchronization

/// Closes connections that would keep others out: those beyond a network's share, those whose TLS handshake takes too long,
/// and those whose browser vanished.
struct BoundedChannel<Base: ServerChildChannel>: ServerChildChannel {
    /// Linux's TCP_USER_TIMEOUT, and how long what was sent may stay unacknowledged.
    private static var userTimeout: ChannelOptions.Types.SocketOption {
        ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: 18))
    }
    private static var longestSilence: SocketOptionValue { 20_000 }

    let base: Base
    let connections: Connections

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        let isAdmitted = connections.begin(channel)
        channel.setOption(Self.userTimeout, value: Self.longestSilence).whenFailure { _ in channel.close(promise: nil) }
        return base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            if let tls = try? channel.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self) {
                try channel.pipeline.syncOperations.addHandler(HandshakeLimit(), position: .after(tls))
            }
            if !isAdmitted { channel.close(promise: nil) }
            return value
        }
    }

    func handle(value: Base.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

/// The open connections. Each network has a share; those of this machine and of the trusted proxy count only for the whole.
/// When all are in use, the oldest one without a login makes room for a new one.
final class Connections: Sendable {
    static let limit = 8_000
    /// Browsers behind one address share it.
    static let networkLimit = 500
    /// For an IPv6 /48.
    static let siteLimit = 1_000

    private typealias Share = (name: String, limit: Int)

    private struct State {
        /// By network and by IPv6 /48.
        var counts: [String: Int] = [:]
        /// Whether each has a login.
        var open: [ObjectIdentifier: (channel: any Channel, isLoggedIn: Bool)] = [:]
        /// In their order, also some that are closed or have a login.
        var oldest: Deque<ObjectIdentifier> = []

        /// Removes the oldest connection without a login.
        mutating func popOldest() -> (any Channel)? {
            while let id = oldest.popFirst() {
                if let entry = open[id], !entry.isLoggedIn { return open.removeValue(forKey: id)?.channel }
            }
            return nil
        }
    }

    private let proxy: String?
    private let limit: Int
    private let state = Mutex(State())

    init(proxy: String?, limit: Int = Connections.limit) {
        self.proxy = proxy
        self.limit = limit
    }

    /// Counts a connection until it is closed. Returns `false` if there is no room for it.
    func begin(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let shares = shares(of: channel.remoteAddress?.ipAddress ?? "")
        let (isAdmitted, removed) = state.withLock { state -> (Bool, (any Channel)?) in
            guard shares.allSatisfy({ state.counts[$0.name] ?? 0 < $0.limit }) else { return (false, nil) }
            let removed = state.open.count < limit ? nil : state.popOldest()
            guard state.open.count < limit else { return (false, nil) }
            state.open[id] = (channel, false)
            // What was closed stays in the queue at most as often as there may be connections.
            if state.oldest.count >= 2 * limit {
                state.oldest = state.oldest.filter { [open = state.open] in open[$0] != nil }
            }
            state.oldest.append(id)
            for share in shares { state.counts[share.name, default: 0] += 1 }
            return (true, removed)
        }
        removed?.close(promise: nil)
        if isAdmitted { channel.closeFuture.whenComplete { [self] _ in end(id, shares) } }
        return isAdmitted
    }

    /// A request or CONNECT of the connection, or of a stream of it, has a valid login.
    func logIn(_ channel: any Channel) {
        state.withLock { $0.open[ObjectIdentifier(channel.connection)]?.isLoggedIn = true }
    }

    private func end(_ id: ObjectIdentifier, _ shares: [Share]) {
        state.withLock { state in
            state.open[id] = nil
            for share in shares {
                let count = (state.counts[share.name] ?? 0) - 1
                state.counts[share.name] = count > 0 ? count : nil
            }
        }
    }

    private func shares(of address: String) -> [Share] {
        guard let canonical = IPAddress.canonical(address), canonical != proxy, !IPAddress.isLoopback(canonical) else {
            return []
        }
        let network = ClientNetwork(canonical)
        return [(network.description, Self.networkLimit)] + (network.site.map { [($0, Self.siteLimit)] } ?? [])
    }
}

extension Channel {
    /// A connection's parent is the listener; that of a stream of HTTP/2 is a connection, which has a parent too.
    var connection: any Channel { parent?.parent == nil ? self : parent ?? self }
}
