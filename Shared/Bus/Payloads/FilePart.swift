package import Foundation

/// A part of a workout's file, in a reply to a request of type `file`.
package struct FilePart: Codable, Hashable, Sendable {
    /// The bytes of each part but the last, which has at least one.
    package static let size = 128 << 10
    /// The parts that answer one request, unless the file ends before.
    package static let window = 16

    /// The place of the part, from 0.
    package let n: Int
    /// How many parts the file has.
    package let of: Int
    /// The name of the file.
    package let name: String
    /// The revision of the workout. A reader that meets another one begins again at 0.
    package let workout: Int64
    /// `true` if items of a device are missing.
    package let incomplete: Bool?
    /// The bytes, as base64 in JSON.
    package let x: Data

    package init(n: Int, of count: Int, name: String, workout: Int64, incomplete: Bool?, x: Data) {
        (self.n, of, self.name, self.workout) = (n, count, name, workout)
        (self.incomplete, self.x) = (incomplete, x)
    }

    /// The parts that answer a request.
    package static func window(from start: Int, of count: Int) -> Range<Int> {
        min(start, count)..<min(start + window, count)
    }
}
