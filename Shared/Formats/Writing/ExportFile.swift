import Foundation
package import Workouts

/// The name of an exported workout: `anna/2026-11-21T061503Z-morning-run-<session>.fit`.
///
/// A user's files sort by the start of the workout. The session in the name makes each name unique.
package struct ExportFile: Hashable, Sendable {
    /// The longest title in a name.
    private static let longestTitle = 40

    package let key: SessionKey
    package let format: ExportFormat
    /// The name in the user's folder.
    package let name: String

    package init(_ workout: WorkoutRecord, _ format: ExportFormat) {
        key = SessionKey(workout.user, workout.session)
        self.format = format
        let start = (workout.startedAt ?? workout.endedAt).map(Self.stamp) ?? "undated"
        let title = Self.title(workout.name) ?? Self.title(workout.activity.rawValue) ?? "workout"
        name = "\(start)-\(title)\(Self.ending(workout.session, format))"
    }

    /// Reads a ``path``; `nil` for any other path, such as one out of the folder.
    package init?(_ path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let user = User(String(parts[0])) else { return nil }
        let words = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        guard words.count == 2, words[0].utf8.allSatisfy({ Self.isPlain($0) || $0 == Self.dash }),
            words[0].dropLast(36).last == "-", let session = SessionID(String(words[0].suffix(36))),
            let format = ExportFormat(rawValue: String(words[1]))
        else { return nil }
        key = SessionKey(user, session)
        self.format = format
        name = String(parts[1])
    }

    /// The path below the folder of exports.
    package var path: String { "\(key.user)/\(name)" }

    /// The ending of every name that a session's file of a format can have.
    package static func ending(_ session: SessionID, _ format: ExportFormat) -> String { "-\(session).\(format)" }

    /// `2026-11-21T061503Z`.
    private static func stamp(_ time: Timestamp) -> String {
        // Only years of four digits sort.
        let seconds = min(max(time.seconds, 0), 253_402_300_799).rounded(.down)
        return Date(timeIntervalSince1970: seconds).formatted(Date.ISO8601FormatStyle(timeSeparator: .omitted))
    }

    /// Words of lowercase letters and digits, joined by dashes; `nil` if the name has none.
    private static func title(_ name: String) -> String? {
        let folded = name.prefix(200).description.folding(options: .diacriticInsensitive, locale: nil)
        let words = folded.lowercased().utf8.split { !isPlain($0) }
        let title = words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "-").prefix(longestTitle)
        guard !title.isEmpty else { return nil }
        return String(title.last == "-" ? title.dropLast() : title)
    }

    private static let dash = UInt8(ascii: "-")

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
