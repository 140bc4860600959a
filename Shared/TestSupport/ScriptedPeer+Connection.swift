import Foundation
import Synchronization

extension ScriptedPeer {
    /// A client's connection, used by the script alone.
    package final class Connection: Sendable {
        let descriptor: Int32
        /// 1 for the first connection.
        package let number: Int
        private let record: @Sendable (Packet) -> Void
        private let isVersion5 = Mutex(false)

        /// The client closed the connection or was silent for a minute.
        package struct Ended: Error {}

        init(descriptor: Int32, number: Int, record: @escaping @Sendable (Packet) -> Void) {
            self.descriptor = descriptor
            self.number = number
            self.record = record
            var timeout = timeval(tv_sec: 60, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }

        // MARK: Reading

        @discardableResult
        package func read() throws -> Packet {
            let first = try byte()
            var length = 0
            var shift = 0
            while true {
                let next = try byte()
                length |= Int(next & 0x7F) << shift
                shift += 7
                if next & 0x80 == 0 { break }
            }
            let body = try (0..<length).map { _ in try byte() }
            guard let kind = Packet.Kind(rawValue: first >> 4) else { throw Ended() }
            let packet = Packet(kind, flags: first & 0xF, body: body)
            if kind == .connect { isVersion5.withLock { $0 = packet.version == 5 } }
            record(packet)
            return packet
        }

        /// Reads up to the next packet of this kind.
        @discardableResult
        package func read(_ kind: Packet.Kind) throws -> Packet {
            while true {
                let packet = try read()
                if packet.kind == kind { return packet }
            }
        }

        /// Reads and records until the client closes the connection.
        package func readToEnd() throws {
            while true { try read() }
        }

        private func byte() throws -> UInt8 {
            var byte: UInt8 = 0
            guard recv(descriptor, &byte, 1, 0) == 1 else { throw Ended() }
            return byte
        }

        // MARK: Writing

        package func write(_ bytes: [UInt8]) throws {
            guard Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
                throw Ended()
            }
        }

        package func write(_ packet: Packet) throws {
            try write(packet.bytes)
        }

        /// Reads CONNECT and answers it. `properties` are encoded MQTT 5 properties.
        package func connack(reason: UInt8 = 0, properties: [UInt8] = []) throws {
            try read(.connect)
            try write(Packet(.connack, body: [0, reason] + versioned(properties)))
        }

        /// Reads SUBSCRIBE and answers each filter with `code`.
        package func suback(code: UInt8 = 1) throws {
            let packet = try read(.subscribe)
            var offset = 2
            if isVersion5.withLock({ $0 }) { offset += 1 + Int(packet.body[2]) }
            var codes: [UInt8] = []
            while offset < packet.body.count {
                offset += 2 + Int(packet.body[offset]) << 8 + Int(packet.body[offset + 1]) + 1
                codes.append(code)
            }
            try write(Packet(.suback, body: Array(packet.body[0..<2]) + versioned([]) + codes))
        }

        /// Sends a message; `packetID` makes it QoS 1.
        package func publish(
            _ topic: String, _ payload: [UInt8], packetID: UInt16? = nil, isDuplicate: Bool = false,
            isRetained: Bool = false
        ) throws {
            let id = packetID.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } ?? []
            let flags: UInt8 = (isDuplicate ? 8 : 0) | (packetID == nil ? 0 : 2) | (isRetained ? 1 : 0)
            try write(Packet(.publish, flags: flags, body: ScriptedPeer.string(topic) + id + versioned([]) + payload))
        }

        /// Answers a PUBLISH.
        package func puback(_ packet: Packet, reason: UInt8 = 0) throws {
            let id = [UInt8(packet.packetID >> 8), UInt8(packet.packetID & 0xFF)]
            try write(Packet(.puback, body: id + (reason == 0 ? [] : [reason, 0])))
        }

        /// Sends an MQTT 5 DISCONNECT.
        package func disconnect(reason: UInt8) throws {
            try write(Packet(.disconnect, body: [reason, 0]))
        }

        private func versioned(_ properties: [UInt8]) -> [UInt8] {
            isVersion5.withLock { $0 } ? [UInt8(properties.count)] + properties : []
        }
    }
}
