import NIOCore

/// Ends connections whose browser is gone. Hummingbird allows half-closed connections, on which an event stream would stay open
/// until its next events cannot be written, and a phone that lost its network closes nothing at all.
final class InputCloseHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    /// Linux's TCP_USER_TIMEOUT: how long what was sent may stay unacknowledged.
    private static let timeout = ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: 18))

    func handlerAdded(context: ChannelHandlerContext) {
        let connection = Self.isConnection(context.channel) ? context.channel : context.channel.parent
        connection?.setOption(Self.timeout, value: SocketOptionValue(LiveStream.writeLimit * 1_000)).whenComplete { _ in
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A stream of HTTP/2 closes its input at the end of every request.
        if event as? ChannelEvent == .inputClosed, Self.isConnection(context.channel) {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// A connection's parent is the listener; that of a stream of HTTP/2 is a connection, which has a parent too.
    private static func isConnection(_ channel: any Channel) -> Bool { channel.parent?.parent == nil }
}
