import NIOCore

/// Closes a WebSocket that has not sent its CONNECT within ten seconds or within 32 KiB.
final class LoginLimit: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let time = TimeAmount.seconds(10)
    private static let bytes = 32 * 1_024

    private let refused: (StaticString) -> Void
    private var received = 0
    private var deadline: Scheduled<Void>?

    init(refused: @escaping (StaticString) -> Void) {
        self.refused = refused
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.value.eventLoop.assumeIsolated().scheduleTask(in: Self.time) { [self] in
            refused("login_time")
            context.value.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytes
        guard received <= Self.bytes else {
            refused("login_bytes")
            return context.close(promise: nil)
        }
        context.fireChannelRead(data)
    }
}
