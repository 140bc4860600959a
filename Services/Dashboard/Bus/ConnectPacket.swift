import MQTT
import NIOCore

/// The packet that opens an MQTT connection, of version 3.1.1 or 5.
struct ConnectPacket: Equatable {
    enum Reading: Equatable {
        case incomplete
        /// A whole packet, and how many bytes it takes.
        case complete(ConnectPacket, length: Int)
        /// Another packet, a larger one, or one that breaks the format.
        case invalid
    }

    /// The largest one, as HAProxy allows it.
    static let limit = 16 * 1_024
    private static let longestKeepAlive: UInt16 = 60

    private let level: UInt8
    private let keepAlive: UInt16
    /// `nil`: without a name.
    let userName: String?

    /// Reads the beginning of a client's bytes.
    static func read(_ bytes: ByteBuffer) -> Reading {
        var bytes = bytes
        let whole = bytes.readableBytes
        guard let first = bytes.readInteger(as: UInt8.self) else { return .incomplete }
        guard first == 0x10 else { return .invalid }
        guard let length = bytes.readVariableLength() else { return bytes.readableBytes < 4 ? .incomplete : .invalid }
        let head = whole - bytes.readableBytes
        guard head + length <= limit else { return .invalid }
        guard let body = bytes.readSlice(length: length) else { return .incomplete }
        return ConnectPacket(body: body).map { .complete($0, length: head + length) } ?? .invalid
    }

    private init?(body: ByteBuffer) {
        var body = body
        guard body.readField() == Array("MQTT".utf8), let level = body.readInteger(as: UInt8.self),
            level == 4 || level == 5,
            let flags = body.readInteger(as: UInt8.self), flags & 1 == 0,
            let keepAlive = body.readInteger(as: UInt16.self)
        else { return nil }
        func skipProperties() -> Bool {
            level == 4 || body.readVariableLength().map { body.readSlice(length: $0) != nil } ?? false
        }
        guard skipProperties(), body.readField() != nil else { return nil }
        if flags & 0x04 != 0 {
            guard skipProperties(), body.readField() != nil, body.readField() != nil else { return nil }
        }
        var name: [UInt8]?
        if flags & 0x80 != 0 {
            name = body.readField()
            guard name != nil else { return nil }
        }
        if flags & 0x40 != 0, body.readField() == nil { return nil }
        guard body.readableBytes == 0 else { return nil }
        self.level = level
        self.keepAlive = keepAlive
        userName = name.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The packet of a page in the name of a login: nothing of the session outlasts it, and it leaves no will. With MQTT 5 it
    /// has no properties, which only restrict what the broker may send.
    func written(for login: Login, client: String) -> ByteBuffer {
        var body = ByteBuffer()
        body.writeField("MQTT")
        body.writeInteger(level)
        body.writeInteger(0xC2 as UInt8)
        body.writeInteger(keepAlive == 0 ? Self.longestKeepAlive : min(keepAlive, Self.longestKeepAlive))
        if level == 5 { body.writeInteger(0 as UInt8) }
        for field in [client, "\(login.account)", login.password.value] { body.writeField(field) }
        var packet = ByteBuffer(integer: 0x10 as UInt8)
        packet.writeVariableLength(body.readableBytes)
        packet.writeBuffer(&body)
        return packet
    }
}

extension ByteBuffer {
    /// A length of MQTT, in at most four bytes; `nil` if it is not whole or longer.
    fileprivate mutating func readVariableLength() -> Int? {
        var length = 0
        for shift in stride(from: 0, to: 28, by: 7) {
            guard let byte = getInteger(at: readerIndex + shift / 7, as: UInt8.self) else { return nil }
            length |= Int(byte & 0x7f) << shift
            guard byte & 0x80 == 0 else { continue }
            moveReaderIndex(forwardBy: shift / 7 + 1)
            return length
        }
        return nil
    }

    fileprivate mutating func writeVariableLength(_ length: Int) {
        var rest = length
        repeat {
            writeInteger(UInt8(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
    }

    /// A string or binary data of MQTT.
    fileprivate mutating func readField() -> [UInt8]? {
        readInteger(as: UInt16.self).flatMap { readBytes(length: Int($0)) }
    }

    fileprivate mutating func writeField(_ text: String) {
        writeInteger(UInt16(text.utf8.count))
        writeString(text)
    }
}
