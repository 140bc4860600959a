import MQTT
import NIOCore
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct ConnectPacketTests {
    /// A CONNECT by its fields.
    private static func packet(
        level: UInt8 = 4, flags: UInt8 = 2, keepAlive: UInt16 = 30, properties: [UInt8]? = nil,
        fields: [String] = ["c"],
        rest: [UInt8] = []
    ) -> [UInt8] {
        var body: [UInt8] =
            [0, 4] + Array("MQTT".utf8) + [level, flags, UInt8(keepAlive >> 8), UInt8(keepAlive & 0xff)]
        if let properties { body += [UInt8(properties.count)] + properties }
        for field in fields {
            body += [UInt8(field.utf8.count >> 8), UInt8(field.utf8.count & 0xff)] + Array(field.utf8)
        }
        body += rest
        return [0x10, UInt8(body.count & 0x7f) | (body.count > 127 ? 0x80 : 0)]
            + (body.count > 127 ? [UInt8(body.count >> 7)] : [])
            + body
    }

    private static let login = Login(
        User("anna")!, Secret("the secret"), at: Timestamp(seconds: 1_700_000_000))

    @Test(
        arguments: [
            (packet(), nil), (packet(level: 5, properties: []), nil),
            (packet(level: 5, properties: [0x21, 0, 9]), nil),
            (packet(flags: 0x82, fields: ["c", "anna"]), "anna"),
            (packet(flags: 0xC2, fields: ["c", "anna", "x"]), "anna"),
            (packet(flags: 0xC6, fields: ["c", "will", "gone", "anna", "x"]), "anna"),
            (packet(level: 5, flags: 0x06, properties: [], fields: ["c"], rest: [0, 0, 1, 65, 0, 0]), nil),
            (packet(fields: [""]), nil), (packet(flags: 0x42, fields: ["c", "x"]), nil),
        ] as [([UInt8], String?)])
    func `a whole CONNECT is read with its name, also one byte at a time`(bytes: [UInt8], name: String?) throws {
        for count in 0..<bytes.count { #expect(ConnectPacket.read(ByteBuffer(bytes: bytes[..<count])) == .incomplete) }
        guard case .complete(let packet, let length) = ConnectPacket.read(ByteBuffer(bytes: bytes + [0xC0, 0])) else {
            Issue.record("not complete")
            return
        }
        #expect(length == bytes.count)
        #expect(packet.userName == name)
    }

    @Test(
        arguments: [
            // Another packet, one that is too large, and a length of five bytes.
            [0x30], [0x11], [0x10, 0xff, 0xff, 0x7f], [0x10, 0x80, 0x80, 0x80, 0x80], [0x10, 0],
            // Another protocol, level or reserved flag.
            packet(level: 3), packet(level: 6), packet(flags: 3),
            // Fields that are missing, cut, or too many.
            packet(fields: []), packet(flags: 0x82, fields: ["c"]), packet(flags: 0x06, fields: ["c", "will"]),
            packet(fields: ["c", "anna"]), packet(fields: [], rest: [0, 9, 65]),
            packet(level: 5, properties: nil, fields: []),
            packet(level: 5, fields: [], rest: [0x80, 0x80, 0x80, 0x80, 1]),
        ] as [[UInt8]])
    func `what breaks the format is invalid`(bytes: [UInt8]) {
        #expect(ConnectPacket.read(ByteBuffer(bytes: bytes)) == .invalid)
    }

    @Test(
        arguments: [
            (packet(keepAlive: 0), 60), (packet(keepAlive: 20), 20), (packet(keepAlive: 61), 60),
            (
                packet(
                    level: 5, flags: 0x04, keepAlive: 65_535, properties: [0x11, 0xff, 0xff, 0xff, 0xff],
                    rest: [0, 0, 1, 65, 0, 0]), 60
            ),
            (packet(flags: 0, fields: [String(repeating: "x", count: 60)]), 30),
        ] as [([UInt8], UInt16)])
    func `the packet of a login has its name and password, a clean session and no will`(
        bytes: [UInt8], keepAlive: UInt16
    ) throws {
        guard case .complete(let packet, _) = ConnectPacket.read(ByteBuffer(bytes: bytes)) else {
            Issue.record("not complete")
            return
        }
        // The length grows from one byte to two.
        for client in ["page", String(repeating: "p", count: 200)] {
            let written = packet.written(for: Self.login, client: client)
            guard case .complete(let read, let length) = ConnectPacket.read(written) else {
                Issue.record("not complete")
                return
            }
            #expect(length == written.readableBytes)
            #expect(read.userName == "anna")
            let level = bytes[bytes.count > 129 ? 9 : 8]
            #expect(
                Array(written.readableBytesView.suffix(from: client == "page" ? 2 : 3))
                    == Array(
                        Self.packet(
                            level: level, flags: 0xC2, keepAlive: keepAlive, properties: level == 5 ? [] : nil,
                            fields: [client, "anna", "the secret"]
                        ).dropFirst(client == "page" ? 2 : 3)))
        }
    }

    @Test func `no bytes break it`() {
        var random = SeededRandom()
        for _ in 0..<20_000 {
            var bytes = Self.packet(
                level: Bool.random(using: &random) ? 4 : 5, flags: .random(in: 0...255, using: &random),
                fields: (0..<Int.random(in: 0...5, using: &random)).map { _ in "abc" })
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                bytes[Int.random(in: 1..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            guard case .complete(let packet, let length) = ConnectPacket.read(ByteBuffer(bytes: bytes)) else {
                continue
            }
            #expect(length <= bytes.count)
            guard case .complete = ConnectPacket.read(packet.written(for: Self.login, client: "page")) else {
                Issue.record("\(bytes)")
                return
            }
        }
    }
}
