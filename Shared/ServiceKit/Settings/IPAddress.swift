import Foundation

/// The 4 or 16 bytes of an address. An IPv4 address that is mapped to IPv6 is one of IPv4.
package struct IPAddress: Hashable, Sendable {
    package let bytes: [UInt8]

    /// - Parameter text: an address, also with a port or in brackets, as proxies write it.
    package init?(_ text: String) {
        var text = Substring(text)
        if text.first == "[", let end = text.firstIndex(of: "]") {
            text = text[text.index(after: text.startIndex)..<end]
        } else if text.count(where: { $0 == ":" }) == 1 {
            text = text.prefix { $0 != ":" }
        }
        var buffer = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, String(text), &buffer) == 1 {
            bytes = Array(buffer[..<4])
        } else if inet_pton(AF_INET6, String(text), &buffer) == 1 {
            let isMapped = buffer[..<10].allSatisfy { $0 == 0 } && buffer[10...11].allSatisfy { $0 == 0xff }
            bytes = isMapped ? Array(buffer[12...]) : buffer
        } else {
            return nil
        }
    }

    /// Whether an address, or the name `localhost`, is this machine's alone.
    package static func isLoopback(_ host: String) -> Bool {
        guard let bytes = IPAddress(host)?.bytes else { return host == "localhost" }
        return bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
    }

    /// One text for each address, without port; `nil` for any other text.
    package static func canonical(_ text: String) -> String? {
        guard let bytes = IPAddress(text)?.bytes else { return nil }
        guard bytes.count == 16 else { return bytes.map(String.init).joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2).map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }
            .joined(separator: ":")
    }
}
