import NIOCore

/// Ends connections that a browser closed. Hummingbird allows half-closed connections, on which an event stream would stay open
/// until its next events cannot be written.
final class InputCloseHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

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
