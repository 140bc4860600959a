/// What went wrong, by what the caller can do about it.
package enum MQTTError: Error, Sendable, Hashable {
    /// There is no connection and nothing was sent: wait for `connected`.
    case notConnected
    /// The connection ended before the broker answered. Whether the message arrived is unknown: send it again.
    case connectionLost(String)
    /// The caller's task was cancelled while waiting; the message may still arrive.
    case cancelled
    /// The broker refused, with its reason code and text. Trying again is useless until its rules or load change.
    case refused(reason: UInt8, String)
    /// The broker refuses a topic filter, so the client stays unready and keeps trying.
    case subscriptionRefused(filter: String, reason: UInt8)
    /// The broker cannot be reached: name, network, certificate. The client keeps trying.
    case unreachable(String)
    /// The message or setting can never be sent like this: a wildcard in a topic, a payload too large, a file unreadable.
    case invalid(String)
}

extension MQTTError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notConnected: "not connected to the broker"
        case .connectionLost(let text): "connection lost: \(text)"
        case .cancelled: "cancelled while waiting for the broker"
        case .refused(let reason, let text): "refused by the broker: \(text) (\(hexadecimal(reason)))"
        case .subscriptionRefused(let filter, let reason):
            "subscription to \(filter) refused by the broker (\(hexadecimal(reason)))"
        case .unreachable(let text): "broker unreachable: \(text)"
        case .invalid(let text): "cannot be sent: \(text)"
        }
    }

    private func hexadecimal(_ reason: UInt8) -> String {
        let digits = String(reason, radix: 16, uppercase: true)
        return "0x" + (digits.count < 2 ? "0" : "") + digits
    }
}
