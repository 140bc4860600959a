/// The errors of a client, one for each way in which a caller can react.
package enum MQTTError: Error, Sendable, Hashable {
    /// There is no connection, and nothing was sent. Wait for `connected`.
    case notConnected
    /// The connection ended before the broker answered. The message may have arrived: send it again.
    case connectionLost(String)
    /// The caller's task was canceled while waiting. The message may still arrive.
    case canceled
    /// The broker refused with this reason code and text. A retry fails until its rules or load change.
    case refused(reason: UInt8, String)
    /// The broker refused a topic filter. The client stays unready and retries.
    case subscriptionRefused(filter: String, reason: UInt8)
    /// The broker is unreachable: host name or network. The client retries.
    case unreachable(String)
    /// The TLS handshake failed: certificate, or a port without TLS. The client retries.
    case handshakeFailed(String)
    /// The message or setting is invalid: a wildcard in a topic, a payload above the limit, an unreadable file.
    case invalid(String)
}

extension MQTTError {
    /// Whether a retry with the same settings fails too. The broker's other refusals end with its load.
    var isLasting: Bool {
        switch self {
        case .handshakeFailed: true
        // Malformed, protocol version, client id, user or password, not authorized, banned; below, those of MQTT 3.1.1.
        case .refused(let reason, _): [0x81, 0x84, 0x85, 0x86, 0x87, 0x8A, 0x01, 0x02, 0x04, 0x05].contains(reason)
        default: false
        }
    }
}

extension MQTTError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notConnected: "not connected to the broker"
        case .connectionLost(let text): "connection lost: \(text)"
        case .canceled: "canceled while waiting for the broker"
        case .refused(let reason, let text): "refused by the broker: \(text) (\(hexadecimal(reason)))"
        case .subscriptionRefused(let filter, let reason):
            "subscription to \(filter) refused by the broker (\(hexadecimal(reason)))"
        case .unreachable(let text): "broker unreachable: \(text)"
        case .handshakeFailed(let text): "TLS handshake failed: \(text)"
        case .invalid(let text): "invalid: \(text)"
        }
    }

    private func hexadecimal(_ reason: UInt8) -> String {
        let digits = String(reason, radix: 16, uppercase: true)
        return "0x" + (digits.count < 2 ? "0" : "") + digits
    }
}
