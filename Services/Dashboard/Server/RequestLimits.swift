import NIOCore
import NIOHTTPTypes

/// Ends the connection of a request that has not begun or is not whole within 10 s, and of a response without progress for 20 s:
/// what waits for a reader takes memory.
final class RequestLimits: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// For the beginning of a request, and from there for the rest.
    static let requestTime = TimeAmount.seconds(10)
    static let stallTime = TimeAmount.seconds(20)
    /// Bytes that are written at once: a slow network takes them in time.
    private static let pieceSize = 16 * 1_024

    private var request: Scheduled<Void>?
    private var stall: Scheduled<Void>?
    /// The parts of responses that the network has not taken, and heads whose end has not come: what the network does not take
    /// at all waits before this handler.
    private var unfinished = 0
    private var movedAt = NIODeadline.uptimeNanoseconds(0)

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: awaitRequest(context)
        case .body: break
        case .end: request?.cancel()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head:
            begin(context)
            context.write(data, promise: promise)
        case .end:
            // The write may bring the next request.
            awaitRequest(context)
            context.write(data, promise: followed(by: promise, ends: 2, context))
        case .body(var bytes):
            while let piece = bytes.readSlice(length: min(Self.pieceSize, bytes.readableBytes)), piece.readableBytes > 0
            {
                let isLast = bytes.readableBytes == 0
                let written = followed(by: isLast ? promise : nil, ends: 1, context)
                context.write(wrapOutboundOut(.body(piece)), promise: written)
            }
        }
    }

    /// A promise that is fulfilled when the network has taken a part.
    ///
    /// - Parameter ends: what it finishes: the part, and with the end its response.
    private func followed(
        by promise: EventLoopPromise<Void>?, ends: Int, _ context: ChannelHandlerContext
    ) -> EventLoopPromise<Void> {
        begin(context)
        let loop = context.eventLoop
        let written = loop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
            unfinished -= ends
            movedAt = loop.now
            if unfinished <= 0 { stall?.cancel() }
        }
        written.futureResult.cascade(to: promise)
        return written
    }

    private func begin(_ context: ChannelHandlerContext) {
        unfinished += 1
        movedAt = context.eventLoop.now
        if unfinished == 1 { watch(context, Self.stallTime) }
    }

    private func watch(_ context: ChannelHandlerContext, _ time: TimeAmount) {
        let channel = context.channel
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        stall = channel.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
            guard unfinished > 0 else { return }
            let rest = movedAt + Self.stallTime - channel.eventLoop.now
            if rest > .zero { watch(context.value, rest) } else { channel.connection.close(promise: nil) }
        }
    }

    private func awaitRequest(_ context: ChannelHandlerContext) {
        let channel = context.channel
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        request?.cancel()
        request = channel.eventLoop.assumeIsolated().scheduleTask(in: Self.requestTime) { [self] in
            // A response under way has its own time.
            if unfinished > 0 { awaitRequest(context.value) } else { channel.connection.close(promise: nil) }
        }
    }

    func handlerAdded(context: ChannelHandlerContext) { awaitRequest(context) }

    func handlerRemoved(context: ChannelHandlerContext) {
        request?.cancel()
        stall?.cancel()
    }
}
