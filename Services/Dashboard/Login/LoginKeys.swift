import Bus
import Crypto
import Foundation
import MQTT
import ServiceKit
import Workouts

/// The keys that seal cookies, by AES-GCM. The first one seals, all open, so an operator changes the key without logging
/// people out: the new one goes before the old one.
struct LoginKeys: Sendable {
    private let keys: [SymmetricKey]

    /// Draws a key.
    init() {
        keys = [SymmetricKey(size: .bits256)]
    }

    /// - Parameter text: lines of 64 hex digits; `nil` if there is none, or another line.
    init?(_ text: String) {
        let keys = text.split(whereSeparator: \.isNewline).map(Self.key)
        guard !keys.isEmpty, keys.allSatisfy({ $0 != nil }) else { return nil }
        self.keys = keys.compactMap(\.self)
    }

    private static func key(_ line: Substring) -> SymmetricKey? {
        let digits = line.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == 64, line.utf8.count == 64 else { return nil }
        return SymmetricKey(data: stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }

    /// Seals a value for the cookie of this name: base64url without padding.
    func seal(_ value: some Encodable, for name: String) -> String {
        do {
            let box = try AES.GCM.seal(
                JSONCoding.encode(value), using: keys[0], authenticating: Self.associated(name))
            return (box.combined ?? Data()).base64EncodedString()
                .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        } catch {
            preconditionFailure("AES-GCM refuses no key of 256 bits: \(error)")
        }
    }

    /// `nil` if none of the keys sealed it, for another name, or as another type.
    func open<Value: Decodable>(_ type: Value.Type, _ text: String, for name: String) -> Value? {
        guard text.utf8.count <= 2_048 else { return nil }
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: base64 + padding), let box = try? AES.GCM.SealedBox(combined: data) else {
            return nil
        }
        for key in keys {
            guard let opened = try? AES.GCM.open(box, using: key, authenticating: Self.associated(name)) else {
                continue
            }
            return try? JSONCoding.decode(type, from: opened)
        }
        return nil
    }

    /// The cookie's name and the version of its format.
    private static func associated(_ name: String) -> Data { Data("\(name) 1".utf8) }
}

extension Sequence<UInt8> {
    /// Two digits of each byte, in lower case.
    var hexDigits: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}
