extension ScriptedPeer {
    /// A received control packet.
    package struct Packet: Sendable, Hashable {
        package enum Kind: UInt8, Sendable {
            case connect = 1
            case connack, publish, puback, pubrec, pubrel, pubcomp, subscribe, suback, unsubscribe, unsuback
            case pingreq, pingresp, disconnect, auth
        }

        package var kind: Kind
        package var flags: UInt8
        /// The bytes after the fixed header.
        package var body: [UInt8]

        package init(_ kind: Kind, flags: UInt8 = 0, body: [UInt8] = []) {
            self.kind = kind
            self.flags = flags
            self.body = body
        }

        package var bytes: [UInt8] {
            var bytes = [kind.rawValue << 4 | flags]
            var length = body.count
            repeat {
                bytes.append(UInt8(length & 0x7F) | (length > 0x7F ? 0x80 : 0))
                length >>= 7
            } while length > 0
            return bytes + body
        }

        /// The MQTT version of a CONNECT: 4 for 3.1.1, or 5.
        package var version: UInt8 { body[6] }

        /// The id of a SUBSCRIBE, UNSUBSCRIBE, PUBACK, or PUBLISH with QoS 1.
        package var packetID: UInt16 {
            let offset = kind == .publish ? 2 + Int(body[0]) << 8 + Int(body[1]) : 0
            return UInt16(body[offset]) << 8 | UInt16(body[offset + 1])
        }

        /// The topic of a PUBLISH.
        package var topic: String {
            String(decoding: body[2..<(2 + Int(body[0]) << 8 + Int(body[1]))], as: UTF8.self)
        }

        /// The QoS of a PUBLISH.
        package var qos: UInt8 { flags >> 1 & 3 }
    }

    package static func string(_ string: String) -> [UInt8] {
        [UInt8(string.utf8.count >> 8), UInt8(string.utf8.count & 0xFF)] + Array(string.utf8)
    }
}
