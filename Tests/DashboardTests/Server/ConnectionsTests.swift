import NIOCore
import NIOEmbedded
import NIOTLS
import Synchronization
import Testing

@testable import Dashboard

struct ConnectionsTests {
    private func connect(_ address: String) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        channel.remoteAddress = try SocketAddress(ipAddress: address, port: 1)
        return channel
    }

    private func isOpen(_ channel: EmbeddedChannel) -> Bool {
        let isClosed = Mutex(false)
        channel.closeFuture.whenComplete { _ in isClosed.withLock { $0 = true } }
        channel.embeddedEventLoop.run()
        return !isClosed.withLock(\.self)
    }

    @Test func `a network has its share, this machine and the proxy count only for the whole`() throws {
        let connections = Connections(proxy: "192.0.2.1")
        let open = try (0..<Connections.networkLimit).map {
            let channel = try connect("2001:db8::\(String($0, radix: 16))")
            #expect(connections.begin(channel))
            return channel
        }
        #expect(!connections.begin(try connect("2001:db8::ffff")))
        #expect(connections.begin(try connect("2001:db8:0:1::1")))
        _ = try open[0].finish()
        #expect(connections.begin(try connect("2001:db8::ffff")))
        for address in ["127.0.0.1", "::1", "192.0.2.1", "::ffff:192.0.2.1"] {
            for _ in 0...Connections.networkLimit { #expect(connections.begin(try connect(address))) }
        }
    }

    @Test func `the networks of a 48-bit prefix share their connections`() throws {
        let connections = Connections(proxy: nil)
        for number in 0..<Connections.siteLimit {
            #expect(connections.begin(try connect("2001:db8:0:\(String(number, radix: 16))::1")))
        }
        #expect(!connections.begin(try connect("2001:db8:0:ffff::1")))
        #expect(connections.begin(try connect("2001:db8:1::1")))
    }

    @Test func `when all are in use, the oldest one without a login makes room`() throws {
        let connections = Connections(proxy: nil, limit: 4)
        let open = try (0..<4).map { _ in try connect("127.0.0.1") }
        for channel in open { #expect(connections.begin(channel)) }
        connections.logIn(open[0])
        _ = try open[2].finish()
        let fifth = try connect("127.0.0.1")
        #expect(connections.begin(fifth))
        #expect(isOpen(open[1]), "there was room")
        let sixth = try connect("127.0.0.1")
        #expect(connections.begin(sixth))
        #expect(isOpen(open[0]) && !isOpen(open[1]) && isOpen(open[3]))
        for channel in [open[3], fifth, sixth] { connections.logIn(channel) }
        #expect(!connections.begin(try connect("127.0.0.1")), "all have a login")
        #expect(isOpen(sixth))
    }

    @Test(arguments: [true, false])
    func `a connection without a TLS handshake closes after ten seconds`(isCompleted: Bool) throws {
        let channel = EmbeddedChannel(handler: HandshakeLimit())
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(channel.isActive)
        if isCompleted {
            channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: "h2"))
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(channel.isActive == isCompleted)
    }
}
