import HTTPTypes
import NIOCore
import NIOWebSocket
import ServiceKit
import Workouts

/// Passes the bytes of a client's binary frames on to the broker, and the broker's bytes back in binary frames. Each side is
/// read only while the other one's socket takes more.
///
/// A CONNECT without a name gets that of the page's login. The password is kept no longer than that.
final class BusConnection: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private enum State {
        /// Exits: connecting with the whole CONNECT, closed.
        case login(ByteBuffer, LoginService.Cookie)
        /// Exits: open, closed.
        case connecting(ByteBuffer)
        case open(any Channel)
        case closed
    }

    private let server: BusServer
    private let limit: HandshakeLimit
    /// The broker that the client asked for, in place of that of its account.
    private let partition: Int?
    private let browser: String
    private var state: State
    /// Whether the last data frame began or continued a message without ending it.
    private var isFragmented = false
    /// The end of the page's login.
    private var end: Scheduled<Void>?

    init(server: BusServer, cookie: LoginService.Cookie, head: HTTPRequest, limit: HandshakeLimit) {
        self.server = server
        partition = head.partition
        browser = head.browser
        self.limit = limit
        state = .login(ByteBuffer(), cookie)
    }

    func handlerAdded(context: ChannelHandlerContext) { server.metrics.opened() }

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
        case .login(var buffer, let cookie):
            buffer.writeImmutableBuffer(bytes)
            state = .login(buffer, cookie)
            switch ConnectPacket.read(buffer) {
            case .incomplete: break
            case .complete(let packet, let length): logIn(packet, buffer, length, cookie, context)
            case .invalid: refuse("connect", .protocolError, context)
            }
        case .connecting(var buffer):
            buffer.writeImmutableBuffer(bytes)
            state = .connecting(buffer)
        case .open(let broker): broker.writeAndFlush(bytes, promise: nil)
        case .closed: break
        }
    }

    private func logIn(
        _ packet: ConnectPacket, _ buffer: ByteBuffer, _ length: Int, _ cookie: LoginService.Cookie,
        _ context: ChannelHandlerContext
    ) {
        if let name = packet.userName { return connect(buffer, name, context) }
        switch cookie {
        case .none: refuse("login", .loginNeeded, context)
        case .unknown: refuse("not_ready", .tryAgainLater, context)
        case .valid(let login):
            guard server.open(login, context.channel) else { return refuse("account", .tooManyConnections, context) }
            // Between the handshake and here it may have ended.
            guard !server.logins.hasEnded(login) else { return refuse("login", .loginNeeded, context) }
            server.connections.logIn(context.channel)
            let left = login.end.seconds(since: server.clock.now)
            let context = NIOLoopBound(context, eventLoop: context.eventLoop)
            end = context.value.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(Int64(left * 1e9))) { [self] in
                close(.loginNeeded, context.value)
            }
            // The broker's plugin lists the account's logins by it.
            let client = "\(ProcessName.unique(prefix: "page"))-\(login.id)-\(login.loggedInAt.milliseconds)-\(browser)"
            var bytes = packet.written(for: login, client: client)
            bytes.writeBytes(buffer.readableBytesView.dropFirst(length))
            connect(bytes, "\(login.account)", context.value)
        }
    }

    private func connect(_ bytes: ByteBuffer, _ account: String, _ context: ChannelHandlerContext) {
        state = .connecting(bytes)
        context.pipeline.syncOperations.removeHandler(limit, promise: nil)
        // Its later frames wait in the kernel.
        read(false, on: context.channel)
        let client = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        server.connect(for: account, partition: partition, on: context.eventLoop) { channel in
            channel.eventLoop.makeCompletedFuture {
                let (handler, context) = client.value
                try channel.pipeline.syncOperations.addHandler(
                    BrokerHandler(client: handler, context, handler.server.connections))
            }
        }
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
        case (.failure, _): refuse("broker", .unexpectedServerError, context)
        }
    }

    /// The broker sent bytes.
    fileprivate func send(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        if case .open = state { write(.binary, bytes, context) }
    }

    /// The broker's socket takes more, or no more.
    fileprivate func read(_ isReading: Bool, on channel: any Channel) {
        channel.setOption(.autoRead, value: isReading).whenFailure { _ in }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if case .open(let broker) = state { read(context.channel.isWritable, on: broker) }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is LoginEnded: close(.loginNeeded, context)
        // Hummingbird allows half-closed connections, on which nobody would read.
        case ChannelEvent.inputClosed: close(.goingAway, context)
        case is ChannelShouldQuiesceEvent: close(.goingAway, context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        closeBroker()
        server.metrics.closed()
        end?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func refuse(_ reason: StaticString, _ code: WebSocketErrorCode, _ context: ChannelHandlerContext) {
        server.metrics.refused(reason)
        close(code, context)
    }

    fileprivate func close(_ code: WebSocketErrorCode, _ context: ChannelHandlerContext) {
        if case .closed = state { return }
        closeBroker()
        guard context.channel.isActive else { return }
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        write(.connectionClose, data, context)
        context.close(promise: nil)
    }

    private func closeBroker() {
        let former = state
        // The broker's end would close this side too, with another code.
        state = .closed
        if case .open(let broker) = former { broker.close(promise: nil) }
    }

    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: data)), promise: nil)
    }
}

extension WebSocketErrorCode {
    fileprivate static let tryAgainLater = Self(codeNumber: 1013)
    /// The page has no login, or it is over.
    fileprivate static let loginNeeded = Self(codeNumber: 4401)
    fileprivate static let tooManyConnections = Self(codeNumber: 4429)
}

/// The broker's side of a connection.
private final class BrokerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let client: BusConnection
    private let clientContext: ChannelHandlerContext
    private let connections: Connections
    private var isLoggedIn = false

    init(client: BusConnection, _ context: ChannelHandlerContext, _ connections: Connections) {
        self.client = client
        self.connections = connections
        clientContext = context
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        // A CONNACK that accepts.
        if !isLoggedIn, bytes.getInteger(at: bytes.readerIndex + 3, as: UInt8.self) == 0 {
            isLoggedIn = true
            connections.logIn(clientContext.channel)
        }
        client.send(bytes, clientContext)
    }

    func channelInactive(context: ChannelHandlerContext) { client.close(.normalClosure, clientContext) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        client.read(context.channel.isWritable, on: clientContext.channel)
    }
}
