import Crypto
import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOWebSocket

/// Makes a WebSocket of a connection whose request is an accepted handshake for `/mqtt`; all other requests pass. HTTP/2 has no
/// such handshake.
final class BusUpgrade: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The broker's `max_packet_size` and some room: a client may send a packet in one frame.
    private static let frameLimit = 384 * 1_024

    private let server: BusServer
    private var unanswered = 0
    /// The handshake whose end is awaited.
    private var accepted: (head: HTTPRequest, login: LoginService.Cookie)?

    init(_ server: BusServer) {
        self.server = server
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            if unanswered == 0, head.isHandshake, let login = server.accept(head) {
                accepted = (head, login)
                return
            }
            unanswered += 1
        case .body where accepted != nil: return context.close(promise: nil)
        case .end where accepted != nil: return upgrade(context)
        case .body, .end: break
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { unanswered -= 1 }
        context.write(data, promise: promise)
    }

    private func upgrade(_ context: ChannelHandlerContext) {
        guard let accepted, let key = accepted.head.headerFields[.secWebSocketKey] else { return }
        let headers: HTTPFields = [
            .upgrade: "websocket", .connection: "upgrade", .secWebSocketProtocol: "mqtt",
            .secWebSocketAccept: Self.answer(to: key),
        ]
        context.writeAndFlush(
            wrapOutboundOut(.head(HTTPResponse(status: .switchingProtocols, headerFields: headers))), promise: nil)
        let pipeline = context.pipeline.syncOperations
        do {
            let limit = HandshakeLimit(bytes: 32 * 1_024, refused: server.metrics.refused)
            for handler in [
                limit, WebSocketFrameEncoder(),
                ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: Self.frameLimit)),
                WebSocketProtocolErrorHandler(),
                BusConnection(server: server, cookie: accepted.login, head: accepted.head, limit: limit),
            ] as [any ChannelHandler] {
                try pipeline.addHandler(handler, position: .before(self))
            }
            try remove(ByteToMessageHandler<HTTPRequestDecoder>.self, pipeline)
            try remove(HTTPResponseEncoder.self, pipeline)
            try remove(HTTP1ToHTTPServerCodec.self, pipeline)
            try remove(RequestLimits.self, pipeline)
            // It would end the connection after 10 s: it sees no request that is answered.
            try remove(HTTPConnectionStateHandler.self, pipeline)
        } catch {
            return context.close(promise: nil)
        }
        pipeline.removeHandler(context: context, promise: nil)
    }

    private func remove<Handler: RemovableChannelHandler>(
        _ type: Handler.Type, _ pipeline: ChannelPipeline.SynchronousOperations
    ) throws {
        pipeline.removeHandler(try pipeline.handler(type: type), promise: nil)
    }

    /// RFC 6455, 4.2.2.
    private static func answer(to key: String) -> String {
        Data(Insecure.SHA1.hash(data: Data("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))).base64EncodedString()
    }
}

extension HTTPRequest {
    /// Of `/mqtt?partition=N`.
    var partition: Int? { path?.split(separator: "?partition=").dropFirst().first.flatMap { Int($0) } }

    /// `Chrome_Android`, the first marks of a browser and of a system in the User-Agent: most contain those of others too.
    var browser: String {
        let marks = ["Edg OPR Samsung Firefox FxiOS CriOS Chrome Safari", "iPhone iPad Android Windows CrOS Mac Linux"]
        let agent = headerFields[.userAgent] ?? ""
        let found = marks.compactMap { $0.split(separator: " ").first { agent.contains($0) } }
        return found.isEmpty ? "Browser" : found.joined(separator: "_")
    }

    /// A well-formed handshake of RFC 6455 for `/mqtt`.
    fileprivate var isHandshake: Bool {
        func has(_ name: HTTPField.Name, _ token: String) -> Bool {
            headerFields[values: name].contains { value in
                value.split(separator: ",").contains {
                    $0.trimmingCharacters(in: .whitespaces).lowercased() == token
                }
            }
        }
        return method == .get && path?.prefix(while: { $0 != "?" }) == "/mqtt" && has(.upgrade, "websocket")
            && has(.connection, "upgrade") && headerFields[.secWebSocketVersion] == "13"
            && headerFields[.secWebSocketKey].flatMap { Data(base64Encoded: $0) }?.count == 16
            // MQTT over WebSocket requires it, and a browser closes a connection whose protocol is not confirmed.
            && has(.secWebSocketProtocol, "mqtt")
    }
}
