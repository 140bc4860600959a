import NIOCore
import NIOPosix
import NIOWebSocket

/// Closes a connection that has not sent its CONNECT within ten seconds or within 32 KiB, HTTP included.
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

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }

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

/// Passes the bytes of a client's binary frames on to the broker, and the broker's bytes back in binary frames. Each side is
/// read only while the other one's socket takes more.
final class WebSocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private enum State {
        /// Exits: connecting with the whole CONNECT, closed.
        case login(ByteBuffer)
        /// Exits: open, closed.
        case connecting(ByteBuffer)
        case open(any Channel)
        case closed
    }

    /// The largest CONNECT, as HAProxy allows it.
    private static let connectLimit = 16 * 1_024

    private let host: String
    private let port: Int
    private let login: LoginLimit
    private let metrics: GatewayMetrics
    private var state = State.login(ByteBuffer())
    /// Whether the last data frame began or continued a message without ending it.
    private var isFragmented = false

    init(host: String, port: Int, login: LoginLimit, metrics: GatewayMetrics) {
        self.host = host
        self.port = port
        self.login = login
        self.metrics = metrics
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        if case .closed = state { return }
        // RFC 6455: every frame of a client has a mask, and no extension is agreed that gives the reserved bits a meaning.
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return close(.protocolError, context)
        }
        switch frame.opcode {
        case .binary, .continuation:
            guard isFragmented == (frame.opcode == .continuation) else { return close(.protocolError, context) }
            isFragmented = !frame.fin
            receive(frame.unmaskedData, context)
        case .ping:
            // A client that does not read gets no more.
            if context.channel.isWritable { write(.pong, frame.unmaskedData, context) }
        case .connectionClose: close(.normalClosure, context)
        case .pong: break
        default: close(.unacceptableData, context)
        }
    }

    private func receive(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        switch state {
        case .login(var buffer):
            buffer.writeImmutableBuffer(bytes)
            state = .login(buffer)
            switch ConnectPacket.check(buffer.readableBytesView, limit: Self.connectLimit) {
            case .incomplete: break
            case .complete:
                state = .connecting(buffer)
                context.pipeline.syncOperations.removeHandler(login, promise: nil)
                connect(context)
            case .invalid:
                metrics.refused("connect")
                close(.protocolError, context)
            }
        case .connecting(var buffer):
            buffer.writeImmutableBuffer(bytes)
            state = .connecting(buffer)
        case .open(let broker): broker.writeAndFlush(bytes, promise: nil)
        case .closed: break
        }
    }

    private func connect(_ context: ChannelHandlerContext) {
        let client = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        // Its later frames wait in the kernel.
        read(false, on: context.channel)
        ClientBootstrap(group: context.eventLoop)
            .connectTimeout(.seconds(5))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (handler, context) = client.value
                    try channel.pipeline.syncOperations.addHandler(BrokerHandler(client: handler, context))
                }
            }
            .connect(host: host, port: port)
            .assumeIsolated()
            .whenComplete { result in
                let (handler, context) = client.value
                handler.connected(result, context)
            }
    }

    private func connected(_ result: Result<any Channel, any Error>, _ context: ChannelHandlerContext) {
        switch (result, state) {
        case (.success(let broker), .connecting(let buffer)):
            state = .open(broker)
            broker.writeAndFlush(buffer, promise: nil)
            read(true, on: context.channel)
        case (.success(let broker), _): broker.close(promise: nil)
        case (.failure, _):
            metrics.refused("broker")
            close(.unexpectedServerError, context)
        }
    }

    /// The broker sent bytes.
    fileprivate func send(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        if case .open = state { write(.binary, bytes, context) }
    }

    /// The broker closed its connection.
    fileprivate func end(_ context: ChannelHandlerContext) { close(.normalClosure, context) }

    /// The broker's socket takes more, or no more.
    fileprivate func read(_ isReading: Bool, on channel: any Channel) {
        channel.setOption(.autoRead, value: isReading).whenFailure { _ in }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if case .open(let broker) = state { read(context.channel.isWritable, on: broker) }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .open(let broker) = state { broker.close(promise: nil) }
        state = .closed
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func close(_ code: WebSocketErrorCode, _ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        if case .open(let broker) = state { broker.close(promise: nil) }
        state = .closed
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        write(.connectionClose, data, context)
        context.close(promise: nil)
    }

    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: data)), promise: nil)
    }
}

/// The broker's side of a connection.
private final class BrokerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let client: WebSocketHandler
    private let clientContext: ChannelHandlerContext

    init(client: WebSocketHandler, _ context: ChannelHandlerContext) {
        self.client = client
        clientContext = context
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { client.send(unwrapInboundIn(data), clientContext) }
    func channelInactive(context: ChannelHandlerContext) { client.end(clientContext) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        client.read(context.channel.isWritable, on: clientContext.channel)
    }
}

/// The beginning of a client's bytes.
enum ConnectPacket {
    enum Check {
        case incomplete
        /// A whole packet that is a CONNECT.
        case complete
        /// Another packet, or a larger one.
        case invalid
    }

    static func check(_ bytes: some Collection<UInt8>, limit: Int) -> Check {
        guard let first = bytes.first else { return .incomplete }
        guard first == 0x10 else { return .invalid }
        var (length, shift) = (0, 0)
        for (index, byte) in bytes.dropFirst().prefix(4).enumerated() {
            length |= Int(byte & 0x7f) << shift
            shift += 7
            guard byte & 0x80 == 0 else { continue }
            guard length + 2 + index <= limit else { return .invalid }
            return bytes.count >= length + 2 + index ? .complete : .incomplete
        }
        return bytes.count < 5 ? .incomplete : .invalid
    }
}
