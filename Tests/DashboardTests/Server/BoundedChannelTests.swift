import NIOCore
import NIOEmbedded
import NIOTLS
import Testing

@testable import Dashboard

struct BoundedChannelTests {
    @Test func `a network has its share of the connections, this machine and the proxy are not counted`() {
        let shares = ConnectionShares(proxy: "192.0.2.1")
        for number in 0..<ConnectionShares.limit {
            #expect(shares.begin("2001:db8::\(String(number, radix: 16))"))
        }
        #expect(!shares.begin("2001:db8::ffff"))
        #expect(shares.begin("2001:db8:0:1::1"))
        shares.end("2001:db8::1")
        #expect(shares.begin("2001:db8::ffff"))
        for address in ["127.0.0.1", "::1", "192.0.2.1", "::ffff:192.0.2.1"] {
            for _ in 0...ConnectionShares.limit { #expect(shares.begin(address)) }
        }
    }

    @Test func `the networks of a 48-bit prefix share a third of the connections`() {
        let shares = ConnectionShares(proxy: nil)
        for number in 0..<ConnectionShares.siteLimit {
            #expect(shares.begin("2001:db8:0:\(String(number, radix: 16))::1"))
        }
        #expect(!shares.begin("2001:db8:0:ffff::1"))
        #expect(shares.begin("2001:db8:1::1"))
        shares.end("2001:db8:0:1::1")
        #expect(shares.begin("2001:db8:0:ffff::1"))
    }

    @Test(arguments: [true, false])
    func `a connection without a TLS handshake closes after ten seconds`(isCompleted: Bool) throws {
        let channel = EmbeddedChannel(handler: HandshakeDeadline(.seconds(10)))
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
