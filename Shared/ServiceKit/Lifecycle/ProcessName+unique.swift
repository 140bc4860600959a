import Foundation
package import Workouts

extension ProcessName {
    /// A name for this process, unlike that of any other there is or was: it ends in 64 random bits.
    ///
    /// - Parameter prefix: a host's name or a kind; invalid characters become dashes, and a long prefix is truncated.
    package static func unique(
        prefix: String = ProcessInfo.processInfo.hostName, bits: UInt64 = .random(in: 0 ... .max)
    ) -> ProcessName {
        let digits = String(bits, radix: 16)
        let random = String(repeating: "0", count: 16 - digits.count) + digits
        let allowed = prefix.lowercased().utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
            default: UInt8(ascii: "-")
            }
        }
        let name = String(decoding: allowed.drop { $0 == UInt8(ascii: "-") }.prefix(47), as: UTF8.self)
        guard let instance = ProcessName(name.isEmpty ? random : "\(name)-\(random)") else {
            preconditionFailure("'\(name)' was made to match the pattern of a name")
        }
        return instance
    }

    /// The 16 hex digits that ``unique(prefix:bits:)`` ends in.
    var randomBits: Substring { description.suffix(16) }
}
