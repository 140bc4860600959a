import Foundation

/// A broker address: `mqtt://user:password@host:1883`, or `mqtts://` for TLS on port 8883.
///
/// User, password and port are optional. Reserved characters in user and password must be percent-encoded.
package struct MQTTURL: Sendable, Hashable {
    package var host: String
    package var port: UInt16
    package var isTLS: Bool
    package var user: String?
    package var password: Secret?

    /// Descriptions never quote the URL, because it may contain a password.
    package enum Problem: Error, Hashable, CustomStringConvertible {
        case scheme
        case host
        case port
        case extra
        case syntax

        package var description: String {
            switch self {
            case .scheme: "must begin with mqtt:// or mqtts://"
            case .host: "has no host"
            case .port: "must have a port from 1 to 65535"
            case .extra: "must end after host and port"
            case .syntax: "is not a valid URL; percent-encode reserved characters in user and password"
            }
        }
    }

    package init(_ string: String) throws(Problem) {
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
