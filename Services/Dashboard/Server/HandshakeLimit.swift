import NIOCore
import NIOTLS

/// Closes a connection that has not completed its handshake within ten seconds: TLS, or after a WebSocket's the CONNECT, which
/// also has a limit of bytes.
final class HandshakeLimit: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let bytes: Int
    private let refused: (StaticString) -> Void
    private var received = 0
    private var deadline: Scheduled<Void>?

    init(bytes: Int = .max, refused: @escaping (StaticString) -> Void = { _ in }) {
        self.bytes = bytes
        self.refused = refused
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.value.eventLoop.assumeIsolated().scheduleTask(in: .seconds(10)) { [self] in
            refused("login_time")
            context.value.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        if case .handshakeCompleted? = event as? TLSUserEvent {
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytes
        guard received <= bytes else {
            refused("login_bytes")
            return context.close(promise: nil)
        }
        context.fireChannelRead(data)
    }
}
