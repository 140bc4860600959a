package import Foundation
package import Workouts

/// A part of a file that a user uploads, on `imports/{import}/parts`.
package struct ImportPart: Equatable, Sendable {
    /// The bytes of a part.
    package static let size = 128 << 10
    /// The bytes of a name.
    package static let nameLimit = 255

    /// From 0.
    package let n: Int
    /// The number of parts of the file.
    package let of: Int
    /// The file's name, for people.
    package let name: String
    /// The bytes of all parts together.
    package let bytes: Int
    package let content: Data
    /// What the client knows beside the file. Only that of the first part counts.
    package let workout: Workout?

    /// What another service says of the workout in a file that it hands out.
    package struct Workout: Hashable, Sendable {
        /// Not that of a file with several workouts.
        package let name: String?
        /// Of a file that names none.
        package let activity: Activity?

        package init(name: String?, activity: Activity?) {
            (self.name, self.activity) = (name, activity)
        }
    }

    package init(n: Int, of: Int, name: String, bytes: Int, content: Data, workout: Workout? = nil) {
        (self.n, self.of, self.name, self.bytes, self.content) = (n, of, name, bytes, content)
        self.workout = workout
    }
}

extension ImportPart {
    /// The parts of a file; none if it is empty.
    package static func all(of content: Data, name: String, workout: Workout? = nil) -> [ImportPart] {
        let starts = Array(stride(from: content.startIndex, to: content.endIndex, by: size))
        return starts.enumerated().map { number, start in
            ImportPart(
                n: number, of: starts.count, name: name, bytes: content.count,
                content: content[start..<min(start + size, content.endIndex)], workout: number == 0 ? workout : nil)
        }
    }
}

extension ImportPart: Codable {
    private enum Key: String, CodingKey { case n, of, name, bytes, workout, x }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func number(_ key: Key, _ range: ClosedRange<Int>) throws -> Int {
            guard let number = try container.wholeNumber(forKey: key), range.contains(number) else {
                throw DecodingError.dataCorruptedError(
                    forKey: key, in: container,
                    debugDescription: "expected a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
        of = try number(.of, 1...1 << 20)
        n = try number(.n, 0...of - 1)
        bytes = try number(.bytes, 1...1 << 40)
        name = try container.decode(String.self, forKey: .name)
        guard (1...Self.nameLimit).contains(name.utf8.count), !name.hasControlCharacters else {
            throw DecodingError.dataCorruptedError(
                forKey: .name, in: container,
                debugDescription: "1 to \(Self.nameLimit) bytes without control characters")
        }
        workout = try container.decodeIfPresent(Workout.self, forKey: .workout)
        let text = try container.decode(String.self, forKey: .x)
        guard let content = Data(base64Encoded: text), (1...Self.size).contains(content.count) else {
            throw DecodingError.dataCorruptedError(
                forKey: .x, in: container, debugDescription: "expected 1 to \(Self.size) bytes in base64")
        }
        self.content = content
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(n, forKey: .n)
        try container.encode(of, forKey: .of)
        try container.encode(name, forKey: .name)
        try container.encode(bytes, forKey: .bytes)
        try container.encodeIfPresent(workout, forKey: .workout)
        try container.encode(content.base64EncodedString(), forKey: .x)
    }
}

extension ImportPart.Workout: Codable {
    private enum Key: String, CodingKey { case name, activity }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        name = try container.decodeIfPresent(String.self, forKey: .name)
        activity = try container.decodeIfPresent(Activity.self, forKey: .activity)
        guard name.map(SessionStart.isName) ?? true else {
            throw DecodingError.dataCorruptedError(
                forKey: .name, in: container, debugDescription: SessionStart.nameRule)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(name, forKey: .name)
        try container.encodeIfPresent(activity, forKey: .activity)
    }
}

/// The stored parts of a file, on `imports/{import}/parts/ack`.
package struct ImportAck: Codable, Equatable, Sendable {
    /// All parts below this number are on disk. The service expects this number next.
    package var n: Int
    /// Why the service takes no part now; `retryAfter` says for how long.
    package var error: Refusal?

    package init(n: Int, error: Refusal? = nil) {
        (self.n, self.error) = (n, error)
    }
}
