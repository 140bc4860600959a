import NIOCore
import NIOEmbedded
import NIOWebSocket
import ServiceKit
import Testing

@testable import WebSocketGateway

/// Frames that RFC 6455 forbids a client end its connection.
@Suite struct WebSocketHandlerTests {
    /// A connection before its login, whose frames reach no broker.
    private func connection() throws -> EmbeddedChannel {
        let login = LoginLimit { _ in }
        let handler = WebSocketHandler(
            host: "127.0.0.1", port: 1, login: login, metrics: GatewayMetrics(PrometheusMetrics()))
        let channel = EmbeddedChannel(handler: handler)
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 2), promise: nil)
        return channel
    }

    /// The beginning of a CONNECT.
    private func frame(
        _ opcode: WebSocketOpcode = .binary, fin: Bool = true, reserved: [Bool] = [false, false, false],
        masked: Bool = true
    ) -> WebSocketFrame {
        WebSocketFrame(
            fin: fin, rsv1: reserved[0], rsv2: reserved[1], rsv3: reserved[2], opcode: opcode,
            maskKey: masked ? [0, 0, 0, 0] : nil, data: ByteBuffer(bytes: [0x10]))
    }

    /// The code of the close frame that the handler sent.
    private func closeCode(_ channel: EmbeddedChannel) throws -> WebSocketErrorCode? {
        while var frame = try channel.readOutbound(as: WebSocketFrame.self) {
            if frame.opcode == .connectionClose { return frame.data.readWebSocketErrorCode() }
        }
        return nil
    }

    @Test func `fragments with other frames between them are one message`() throws {
        let channel = try connection()
        for frame in [
            frame(fin: false), frame(.ping), frame(.continuation, fin: false), frame(.continuation), frame(),
        ] {
            try channel.writeInbound(frame)
        }
        #expect(channel.isActive)
        #expect(try closeCode(channel) == nil)
    }

    @Test(arguments: 0..<7) func `a forbidden frame ends the connection, and later ones are ignored`(number: Int) throws
    {
        let forbidden: [[WebSocketFrame]] = [
            [frame(masked: false)], [frame(.ping, masked: false)],
            [frame(reserved: [true, false, false])], [frame(reserved: [false, true, false])],
            [frame(reserved: [false, false, true])],
            [frame(.continuation)], [frame(fin: false), frame()],
        ]
        let channel = try connection()
        for frame in forbidden[number] { try channel.writeInbound(frame) }
        #expect(!channel.isActive)
        #expect(try closeCode(channel) == .protocolError)
        _ = try? channel.writeInbound(frame(.ping))
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil)
    }
}
