import Logging
import MQTT
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import ServiceKit
import ServiceLifecycle
import Synchronization

/// Accepts WebSocket connections. When a client has sent a whole MQTT CONNECT, it connects to the broker and passes the bytes on in
/// both directions.
///
/// mosquitto's own WebSocket listener allocates as many bytes as a client announces, up to 256 MiB, before it logs in.
struct GatewayService: Service {
    /// The maximum number of open connections.
    static let connectionLimit = 8_000
    /// The broker's `max_packet_size` and some room: a client may send a packet in one frame.
    static let frameLimit = 384 * 1_024

    let context: ServiceContext
    let gateway: GatewayConfiguration
    let onListening: @Sendable (Int) async -> Void
    private let metrics: GatewayMetrics

    init(
        context: ServiceContext, gateway: GatewayConfiguration, onListening: @escaping @Sendable (Int) async -> Void
    ) {
        self.context = context
        self.gateway = gateway
        self.onListening = onListening
        metrics = GatewayMetrics(context.metrics)
    }

    /// Serves until shutdown, which closes all connections.
    /// - Throws: `SettingError` when the port cannot be opened.
    func run() async throws {
        let server: any Channel
        do {
            server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelOption(.backlog, value: 256)
                .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
                .childChannelInitializer(open)
                .bind(host: gateway.host, port: gateway.port).get()
        } catch {
            throw SettingError(.webSocketPort, "cannot listen on \(gateway.host):\(gateway.port): \(error)")
        }
        let port = server.localAddress?.port ?? gateway.port
        context.logger.info("listening", metadata: [LogKey.address: "\(gateway.host):\(port)"])
        await onListening(port)
        let steps = markSteps()
        defer { for step in steps { step.cancel() } }
        try await withGracefulShutdownHandler {
            try await server.closeFuture.get()
        } onGracefulShutdown: {
            server.close(promise: nil)
        }
    }

    /// Marks each second that each event loop continues.
    private func markSteps() -> [RepeatedTask] {
        MultiThreadedEventLoopGroup.singleton.makeIterator().enumerated().map { number, loop in
            loop.scheduleRepeatedTask(initialDelay: .zero, delay: .seconds(1)) { [liveness = context.liveness] _ in
                liveness.mark("event-loop-\(number)")
            }
        }
    }

    private func open(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard metrics.opened() <= Self.connectionLimit else {
            metrics.closed()
            metrics.refused("connections")
            return channel.close()
        }
        channel.closeFuture.whenComplete { [metrics] _ in metrics.closed() }
        let mqtt = context.configuration.mqtt
        return channel.eventLoop.makeCompletedFuture {
            let login = LoginLimit { [metrics] in metrics.refused($0) }
            let refusal = NIOLoopBound(PlainRequestHandler(), eventLoop: channel.eventLoop)
            let upgrader = NIOWebSocketServerUpgrader(
                maxFrameSize: Self.frameLimit, automaticErrorHandling: true,
                shouldUpgrade: { [origins = gateway.origins, metrics] channel, head in
                    channel.eventLoop.makeSucceededFuture(Self.accept(head, origins, metrics))
                },
                upgradePipelineHandler: { [metrics] channel, _ in
                    channel.eventLoop.makeCompletedFuture {
                        let login = try channel.pipeline.syncOperations.handler(type: LoginLimit.self)
                        let client = WebSocketHandler(
                            host: mqtt.host, port: Int(mqtt.port), login: login, metrics: metrics)
                        try channel.pipeline.syncOperations.addHandler(client)
                    }
                })
            try channel.pipeline.syncOperations.addHandler(login)
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                withServerUpgrade: (
                    upgraders: [upgrader],
                    completionHandler: { $0.pipeline.syncOperations.removeHandler(refusal.value, promise: nil) }
                ))
            try channel.pipeline.syncOperations.addHandler(refusal.value)
        }
    }

    /// The headers of the response to a handshake; `nil` refuses it.
    private static func accept(_ head: HTTPRequestHead, _ origins: Origins, _ metrics: GatewayMetrics) -> HTTPHeaders? {
        guard head.headers["Host"].count == 1 else {
            metrics.refused("host")
            return nil
        }
        guard origins.allows(head.headers.first(name: "Origin")) else {
            metrics.refused("origin")
            return nil
        }
        // MQTT over WebSocket requires it, and a browser closes a connection whose protocol is not confirmed.
        let offered = head.headers[canonicalForm: "Sec-WebSocket-Protocol"]
        guard offered.contains("mqtt") else {
            metrics.refused("protocol")
            return nil
        }
        return ["Sec-WebSocket-Protocol": "mqtt"]
    }
}

/// Answers what is no accepted WebSocket handshake, and closes.
private final class PlainRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let request) = unwrapInboundIn(data) else { return }
        let (status, text): (HTTPResponseStatus, String) =
            if request.headers["Host"].count != 1 {
                (.badRequest, "a request has one Host header\n")
            } else if request.headers.contains(name: "Upgrade") {
                (.forbidden, "this page's origin or the protocol is not allowed\n")
            } else {
                (.upgradeRequired, "MQTT over WebSocket only\n")
            }
        let headers: HTTPHeaders = ["Connection": "close", "Content-Length": "\(text.utf8.count)"]
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
    }
}
