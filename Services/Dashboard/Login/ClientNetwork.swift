import ServiceKit

/// The part of a client's address that counts: an IPv4 address, or the first 64 bits of an IPv6 address.
struct ClientNetwork: Hashable, Sendable, CustomStringConvertible {
    let description: String
    /// The /48 of an IPv6 address: one customer may own as many as 65,536 networks. `nil` for other addresses.
    let site: String?

    /// - Parameter address: an address without port; any other text counts as a network of its own.
    init(_ address: String) {
        guard let bytes = IPAddress(address)?.bytes, bytes.count == 16 else {
            description = String(IPAddress.canonical(address) ?? String(address.prefix(64)))
            site = nil
            return
        }
        description = Self.prefix(bytes[..<8])
        site = Self.prefix(bytes[..<6])
    }

    private static func prefix(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.map { String($0, radix: 16) }.joined(separator: ".") + "/\(bytes.count * 8)"
    }
}
