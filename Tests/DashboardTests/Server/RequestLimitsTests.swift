import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import Dashboard

struct RequestLimitsTests {
    private static let head = HTTPRequestPart.head(
        HTTPRequest(method: .post, scheme: "http", authority: "x", path: "/login"))

    private func connection() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: RequestLimits())
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        return channel
    }

    @Test(arguments: [true, false])
    func `a request has ten seconds to become whole, also if bytes trickle in`(isWhole: Bool) throws {
        let channel = try connection()
        try channel.writeInbound(Self.head)
        for _ in 0..<9 {
            try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "x")))
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        }
        #expect(channel.isActive)
        if isWhole { try channel.writeInbound(HTTPRequestPart.end(nil)) }
        channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(channel.isActive == isWhole)
    }

    @Test func `a response without progress for twenty seconds ends its connection`() throws {
        let channel = try connection()
        let bytes = ByteBuffer(repeating: 1, count: 40_000)
        // What is not flushed waits, as for a reader that takes nothing.
        channel.write(HTTPResponsePart.head(HTTPResponse(status: .ok)), promise: nil)
        channel.write(HTTPResponsePart.body(bytes), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(19))
        #expect(channel.isActive)
        channel.flush()
        var sizes: [Int] = []
        while let part = try channel.readOutbound(as: HTTPResponsePart.self) {
            if case .body(let piece) = part { sizes.append(piece.readableBytes) }
        }
        #expect(sizes == [16_384, 16_384, 7_232])
        channel.embeddedEventLoop.advanceTime(by: .seconds(19))
        channel.writeAndFlush(HTTPResponsePart.end(nil), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        // The body of the next one never comes, because the network takes nothing.
        channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .ok)), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(19))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `the next request begins within ten seconds`() throws {
        let channel = try connection()
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        try channel.writeInbound(Self.head)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        channel.write(HTTPResponsePart.head(HTTPResponse(status: .ok)), promise: nil)
        channel.writeAndFlush(HTTPResponsePart.end(nil), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }
}
