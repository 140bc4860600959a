import AsyncHTTPClient
import NIOCore
import NIOSSL

extension APNsClient {
    /// How a client has to be set up.
    ///
    /// - Parameter authorities: who may sign APNs' certificate, a PEM file; `nil` for those of the system.
    static func http(authorities: String?, limits: Limits = Limits()) -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let authorities { tls.trustRoots = .file(authorities) }
        var pool = HTTPClient.Configuration.ConnectionPool()
        // A push has tries of its own.
        pool.retryConnectionEstablishment = false
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: TimeAmount(limits.each)), connectionPool: pool)
        let silence = TimeAmount(limits.silence)
        configuration.http2ConnectionDebugInitializer = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(SilenceHandler(), position: .first)
                try pipeline.addHandler(IdleStateHandler(readTimeout: silence), position: .first)
            }
        }
        return configuration
    }
}

/// Closes a connection on which nothing comes any more. Otherwise pushes would go into a dead one for as long as the system
/// believes in it, a quarter of an hour.
private final class SilenceHandler: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case IdleStateHandler.IdleStateEvent.read = event {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}
