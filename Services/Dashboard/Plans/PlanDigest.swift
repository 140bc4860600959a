import Bus
import Crypto
import Foundation
import Workouts

/// The content of a saved plan in 32 hex digits: two definitions with the same digest are the same.
struct PlanDigest: Hashable, Sendable, CustomStringConvertible {
    let description: String

    init(_ definition: WorkoutDefinition) {
        description = Self.hex(JSONCoding.encode(definition))
    }

    /// `nil` for text that no digest has.
    init?(_ text: String) {
        guard text.utf8.count == 32, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        description = text
    }

    /// The id of a press: a repeated POST of the same form has the same id, and a changed form another.
    static func command(_ form: String, _ press: some Encodable) -> CommandID {
        let digest = Array(SHA256.hash(data: Array(form.utf8) + JSONCoding.encode(press)).prefix(16))
        return CommandID(digest.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes).prefix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
