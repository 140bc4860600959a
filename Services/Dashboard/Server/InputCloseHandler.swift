import NIOCore

/// Closes the connection when its browser does. Hummingbird allows half-closed connections, on which an event stream would stay
/// open until its next events cannot be written.
final class InputCloseHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A stream of HTTP/2 closes its input at the end of every request; its parent is a connection, which has a parent too.
        if event as? ChannelEvent == .inputClosed, context.channel.parent?.parent == nil {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}
