package import Foundation

/// A name that can be one level of a topic. An initializer returns `nil` for text that does not match the type's
/// pattern.
package protocol TopicLevel: Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    init?(_ text: String)
}

extension TopicLevel {
    package static func < (left: Self, right: Self) -> Bool { left.description < right.description }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let name = Self(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a valid \(Self.self)")
        }
        self = name
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// 1 to 64 bytes of lowercase ASCII letters, digits and dashes; the first is a letter or a digit.
private func matches(_ text: String, allowingUnderscore: Bool) -> Bool {
    guard (1...64).contains(text.utf8.count) else { return false }
    return text.utf8.enumerated().allSatisfy { index, byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"): index > 0
        case UInt8(ascii: "_"): index > 0 && allowingUnderscore
        default: false
        }
    }
}

/// A person's account: `[a-z0-9][a-z0-9_-]{0,63}`.
package struct User: TopicLevel {
    package let description: String

    package init?(_ text: String) {
        guard matches(text, allowingUnderscore: true) else { return nil }
        description = text
    }

    /// An account that people log in with: a person's, or the operators'.
    package init?(account text: String) {
        if text == Self.operators.description { self = .operators } else { self.init(text) }
    }

    private init(operators: Void) { description = "_operator" }

    /// The operators' account. It owns no workouts and names no topic but those of its logins.
    package static let operators = User(operators: ())
}

/// A name of lowercase letters, digits and dashes, `[a-z0-9][a-z0-9-]{0,63}`. `Kind` distinguishes uses.
package struct DashedName<Kind>: TopicLevel {
    package let description: String

    package init?(_ text: String) {
        guard matches(text, allowingUnderscore: false) else { return nil }
        description = text
    }
}

extension DashedName: CodingKeyRepresentable {
    package var codingKey: any CodingKey { NameKey(stringValue: description) }

    package init?(codingKey: some CodingKey) {
        self.init(codingKey.stringValue)
    }
}

/// Dictionaries by user are JSON objects.
extension User: CodingKeyRepresentable {
    package var codingKey: any CodingKey { NameKey(stringValue: description) }

    package init?(codingKey: some CodingKey) {
        self.init(codingKey.stringValue)
    }
}

/// A name as a key of a JSON object.
struct NameKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

package enum DeviceKind {}
package enum ClientKind {}
package enum TargetKind {}
package enum ProcessKind {}

/// A device. The name begins with its kind: `watch-3f9a`.
package typealias Device = DashedName<DeviceKind>
/// The sender of commands and requests, and the reader of their replies.
package typealias Client = DashedName<ClientKind>
/// A destination of exported workouts.
package typealias Target = DashedName<TargetKind>
/// One running process of a service.
package typealias ProcessName = DashedName<ProcessKind>

extension Device {
    /// The device of all imported sessions. The broker's plugin lets importer alone write as it.
    package static let importer = Device("import")!

    /// The word before the first dash: `watch`, `strap`, `pod`, `phone` or another.
    package var kind: Substring { description.prefix { $0 != "-" } }

    package var isWatch: Bool { kind == "watch" }
}

/// A UUID, drawn by the process that creates the thing. It is read in either case and written in lower case. `Kind`
/// distinguishes uses.
package struct Identifier<Kind>: TopicLevel {
    package let uuid: UUID

    package init(_ uuid: UUID) {
        self.uuid = uuid
    }

    // `UUID(uuidString:)` stops reading at a NUL and accepts a sign as a digit; it and `uuidString` cost microseconds.
    package init?(_ text: String) {
        var (high, low, count) = (UInt64(0), UInt64(0), 0)
        for byte in text.utf8 {
            switch count {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
            case 36...: return nil
            default:
                let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
                guard let digit = Shard.hexDigit(isUpper ? byte | 0x20 : byte) else { return nil }
                (high, low) = (high << 4 | low >> 60, low << 4 | UInt64(digit))
            }
            count += 1
        }
        guard count == 36 else { return nil }
        uuid = withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    package var description: String {
        withUnsafeBytes(of: uuid.uuid) { bytes in
            String(unsafeUninitializedCapacity: 36) { text in
                var place = 0
                for (index, byte) in bytes.enumerated() {
                    if index == 4 || index == 6 || index == 8 || index == 10 {
                        text[place] = UInt8(ascii: "-")
                        place += 1
                    }
                    text[place] = Shard.digit(byte >> 4)
                    text[place + 1] = Shard.digit(byte & 15)
                    place += 2
                }
                return place
            }
        }
    }

    /// In the order of the descriptions.
    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }

    private var number: (UInt64, UInt64) {
        withUnsafeBytes(of: uuid.uuid) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }
}

package enum SessionKind {}
package enum RunKind {}
package enum CommandKind {}
package enum PlanKind {}
package enum ImportKind {}

/// A session. User and session together identify a workout.
package typealias SessionID = Identifier<SessionKind>
/// A virtual run.
package typealias RunID = Identifier<RunKind>
/// A planned workout that a user saved.
package typealias PlanID = Identifier<PlanKind>
/// A file that a user uploads.
package typealias ImportID = Identifier<ImportKind>
/// A command or request. The id makes a repetition harmless.
package typealias CommandID = Identifier<CommandKind>

extension SessionID {
    /// The last two hex digits. They choose the replica that owns the session.
    package var shard: Shard { Shard(uuid.uuid.15) }
}

extension RunID {
    /// The last two hex digits. They choose the replica that owns the run.
    package var shard: Shard { Shard(uuid.uuid.15) }
}

/// One of the 256 parts that divide all sessions, written as two hex digits.
package struct Shard: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let value: UInt8

    package init(_ value: UInt8) {
        self.value = value
    }

    package init?(_ text: some StringProtocol) {
        let digits = Array(text.utf8)
        guard digits.count == 2, let high = Shard.hexDigit(digits[0]), let low = Shard.hexDigit(digits[1]) else {
            return nil
        }
        value = high << 4 | low
    }

    package var description: String {
        String(decoding: [Self.digit(value >> 4), Self.digit(value & 15)], as: UTF8.self)
    }

    /// All 256 shards.
    package static let all = (UInt8.min...UInt8.max).map { Shard($0) }

    package static func < (left: Shard, right: Shard) -> Bool { left.value < right.value }

    /// The digit of a value below 16.
    fileprivate static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    fileprivate static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

/// Identifies a session by user and id. The id alone is not unique.
package struct SessionKey: Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    package let user: User
    package let session: SessionID

    package init(_ user: User, _ session: SessionID) {
        self.user = user
        self.session = session
    }

    /// Reads a ``description``.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let user = User(String(parts[0])), let session = SessionID(String(parts[1])) else {
            return nil
        }
        self.init(user, session)
    }

    package var description: String { "\(user)/\(session)" }

    package static func < (left: SessionKey, right: SessionKey) -> Bool {
        (left.user, left.session) < (right.user, right.session)
    }
}

extension User {
    /// The shard that owns this user in session-engine: the last byte of the CRC-32 of the name.
    package var shard: Shard { Shard(UInt8(truncatingIfNeeded: Partition.checksum(of: description))) }
}

extension KeyedDecodingContainer {
    /// Decodes a field that contains numbers. The error names the field if a number is out of range; Foundation's own
    /// error rejects the whole text as malformed JSON.
    package func number<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        do {
            return try decodeIfPresent(type, forKey: key)
        } catch let error as DecodingError {
            throw error
        } catch {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "out of range")
        }
    }

    /// Decodes a whole number. The error names the field if it is not one.
    package func wholeNumber(forKey key: Key) throws -> Int? {
        guard let number = try number(Double.self, forKey: key) else { return nil }
        guard let whole = Int(exactly: number) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "not a whole number")
        }
        return whole
    }
}

/// The version of Pacebus: in `--version`, the start-up line, each service's presence and exported files.
package let pacebusVersion = "0.1.0"
