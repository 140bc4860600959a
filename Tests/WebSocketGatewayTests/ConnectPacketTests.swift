import Testing

@testable import WebSocketGateway

@Suite struct ConnectPacketTests {
    @Test(
        arguments: [
            ([], .incomplete), ([0x10], .incomplete), ([0x10, 2, 0], .incomplete), ([0x10, 2, 0, 4], .complete),
            ([0x10, 0], .complete), ([0x10, 2, 0, 4, 0x30], .complete),
            // Another packet than CONNECT, one that is too large, and a length of five bytes.
            ([0x30], .invalid), ([0x11], .invalid), ([0x10, 0xff, 0x7f], .invalid),
            ([0x10, 0xff, 0xff, 0xff, 0x7f], .invalid), ([0x10, 0x80, 0x80, 0x80, 0x80], .invalid),
            ([0x10, 0x80, 0x80], .incomplete),
        ] as [([UInt8], ConnectPacket.Check)])
    func `only a whole CONNECT within the limit is complete`(bytes: [UInt8], expected: ConnectPacket.Check) {
        #expect(ConnectPacket.check(bytes, limit: 1_000) == expected)
    }
}
