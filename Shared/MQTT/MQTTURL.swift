import Foundation

/// A broker address: `mqtt://user:password@host:1883`, or `mqtts://` for TLS on port 8883.
///
/// User, password and port are optional. Reserved characters in user and password must be percent-encoded. Several brokers, each
/// with a part of the accounts, are separated by commas in the order of their partitions: `mqtt://user@one:1883,two:1883`.
package struct MQTTURL: Sendable, Hashable {
    package struct Broker: Sendable, Hashable {
        package var host: String
        package var port: UInt16
    }

    /// The most brokers of a URL.
    package static let brokerLimit = 9

    package var host: String
    package var port: UInt16
    /// The brokers after the first.
    package var otherPartitions: [Broker] = []
    package var isTLS: Bool
    package var user: String?
    package var password: Secret?

    /// Descriptions never quote the URL, because it may contain a password.
    package enum Problem: Error, Hashable, CustomStringConvertible {
        case scheme
        case host
        case port
        case extra
        case brokers
        case syntax

        package var description: String {
            switch self {
            case .scheme: "must begin with mqtt:// or mqtts://"
            case .host: "has no host"
            case .port: "must have a port from 1 to 65535"
            case .extra: "must end after host and port"
            case .brokers: "must name 1 to \(MQTTURL.brokerLimit) different brokers"
            case .syntax: "is not a valid URL; percent-encode reserved characters in user and password"
            }
        }
    }

    package init(_ string: String) throws(Problem) {
        let start = string.lastIndex(of: "@").map(string.index(after:)) ?? string.firstRange(of: "://")?.upperBound
        let parts = string[(start ?? string.startIndex)...].split(separator: ",", omittingEmptySubsequences: false)
        guard let start, parts.count > 1 else {
            self = try MQTTURL(oneBroker: string)
            return
        }
        self = try MQTTURL(oneBroker: String(string[..<start] + parts[0]))
        for part in parts.dropFirst() {
            let other = try MQTTURL(oneBroker: "\(isTLS ? "mqtts" : "mqtt")://\(part)")
            otherPartitions.append(Broker(host: other.host, port: other.port))
        }
        guard parts.count <= Self.brokerLimit,
            Set(otherPartitions + [Broker(host: host, port: port)]).count == parts.count
        else { throw .brokers }
    }

    private init(oneBroker string: String) throws(Problem) {
        let defaultPort: UInt16
        switch string.prefix(while: { $0 != ":" }).lowercased() {
        case "mqtt": (isTLS, defaultPort) = (false, 1883)
        case "mqtts": (isTLS, defaultPort) = (true, 8883)
        default: throw .scheme
        }
        guard string.dropFirst(isTLS ? 5 : 4).hasPrefix("://") else { throw .scheme }
        guard let components = URLComponents(string: string, encodingInvalidCharacters: false) else { throw .syntax }
        guard ["", "/"].contains(components.path), components.query == nil, components.fragment == nil else {
            throw .extra
        }
        guard let host = components.host, !host.isEmpty else { throw .host }
        self.host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        guard let port = UInt16(exactly: components.port ?? Int(defaultPort)), port > 0 else { throw .port }
        self.port = port
        user = components.user.flatMap { $0.isEmpty ? nil : $0 }
        password = components.password.map { Secret($0) }
    }
}
