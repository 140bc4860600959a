import Foundation

/// A broker's address: `mqtt://user:password@host:1883`, or `mqtts://` for TLS on port 8883.
///
/// User, password and port may be left out; reserved characters in user and password are percent-encoded.
package struct MQTTURL: Sendable, Hashable {
    package var host: String
    package var port: UInt16
    package var isTLS: Bool
    package var user: String?
    package var password: Secret?

    /// Its description never quotes the URL, which may hold a password.
    package enum Problem: Error, Hashable, CustomStringConvertible {
        case scheme
        case host
        case port
        case extra
        case syntax

        package var description: String {
            switch self {
            case .scheme: "must begin with mqtt:// or mqtts://"
            case .host: "names no host"
            case .port: "needs a port between 1 and 65535"
            case .extra: "must end after host and port"
            case .syntax: "is not a URL; encode reserved characters in user and password with %"
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
