import HTTPTypes
import MQTT
import NIOCore
import NIOEmbedded
import NIOWebSocket
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

/// Connections that reach no broker: frames that RFC 6455 forbids, and pages without a valid login.
struct BusConnectionTests {
    private let logins = LoginService(
        cookies: LoginCookies(keys: LoginKeys(), isSecure: false), clock: ManualClock(), logger: .silent, onRefusal: {},
        check: { _, _ in .refused })

    private func connection(_ cookie: LoginService.Cookie = .none) throws -> EmbeddedChannel {
        var broker = MQTTConfiguration(clientID: "test")
        broker.port = 1
        let server = try BusServer(
            logins: logins, connections: Connections(proxy: nil), metrics: DashboardMetrics(PrometheusMetrics()),
            clock: ManualClock(), brokers: broker, origins: Origins(), own: { _ in "http://127.0.0.1" })
        let channel = EmbeddedChannel(
            handler: BusConnection(
                server: server, cookie: cookie, head: Self.handshake("curl"), limit: HandshakeLimit()))
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 2), promise: nil)
        return channel
    }

    private static func handshake(_ agent: String?) -> HTTPRequest {
        var head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/mqtt")
        head.headerFields[.userAgent] = agent
        return head
    }

    /// The beginning of a CONNECT.
    private func frame(
        _ opcode: WebSocketOpcode = .binary, fin: Bool = true, reserved: [Bool] = [false, false, false],
        masked: Bool = true, bytes: [UInt8] = [0x10]
    ) -> WebSocketFrame {
        WebSocketFrame(
            fin: fin, rsv1: reserved[0], rsv2: reserved[1], rsv3: reserved[2], opcode: opcode,
            maskKey: masked ? [0, 0, 0, 0] : nil, data: ByteBuffer(bytes: bytes))
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
            frame(fin: false), frame(.ping), frame(.continuation, fin: false, bytes: [20]),
            frame(.continuation, bytes: [0]),
            frame(bytes: [4]),
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

    /// A CONNECT without a name.
    private static let connect: [UInt8] = [0x10, 13, 0, 4] + Array("MQTT".utf8) + [4, 2, 0, 30, 0, 1, 99]

    @Test(
        arguments: [
            (connect, .none, 4401), (connect, .unknown, 1013), (connect.dropLast() + [0x2b], .none, 4401),
            ([0x10, 2, 0, 4], .none, 1002), ([0xC0, 0], .none, 1002), ([0x10, 0xff, 0xff, 0x7f], .none, 1002),
        ] as [([UInt8], LoginService.Cookie, Int)])
    func `a CONNECT without a name needs a login`(bytes: [UInt8], cookie: LoginService.Cookie, code: Int) throws {
        let channel = try connection(cookie)
        for byte in bytes where channel.isActive { try channel.writeInbound(frame(bytes: [byte])) }
        #expect(try closeCode(channel) == WebSocketErrorCode(codeNumber: code))
        #expect(!channel.isActive)
    }

    @Test(
        arguments: [
            (
                "(Linux; Android 10; K) (KHTML, like Gecko) Chrome/124.0 Mobile Safari/537.36",
                "Chrome_Android"
            ),
            (
                "(iPhone; CPU iPhone OS 17_4 like Mac OS X) Version/17.4 Mobile/15E148 Safari/604.1",
                "Safari_iPhone"
            ),
            (
                "(iPhone; CPU iPhone OS 17_4 like Mac OS X) CriOS/124.0.6367.88 Mobile/15E148 Safari/604.1",
                "CriOS_iPhone"
            ),
            ("(Windows NT 10.0; Win64; x64) Chrome/124.0.0.0 Safari/537.36 Edg/124.0.0.0", "Edg_Windows"),
            ("(Linux; Android 10; K) SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36", "Samsung_Android"),
            ("(X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0", "Firefox_Linux"),
            ("\"-/\u{e9}Macintosh", "Mac"), ("curl/8.5.0", "Browser"), (nil, "Browser"),
        ] as [(String?, String)])
    func `a browser is named by its User-Agent`(agent: String?, name: String) {
        #expect(Self.handshake(agent).browser == name)
    }

    @Test func `a login that ended between the handshake and CONNECT connects nothing`() throws {
        let login = Login(User("anna")!, Secret("x"), at: ManualClock().now)
        let channel = try connection(.valid(login))
        logins.leave(login)
        try channel.writeInbound(frame(bytes: Self.connect))
        #expect(try closeCode(channel) == WebSocketErrorCode(codeNumber: 4401))
    }
}
