import Formats
import Foundation
import Workouts

/// The file of a workout in the export folder: `anna/2026-11-21T061503Z-morning-run-<session>.fit`.
///
/// A user's files sort by the start of the workout. The session keeps the files of different workouts apart.
struct ExportFile: Hashable {
    /// The longest part that comes from the workout's name.
    static let longestName = 40

    let key: SessionKey
    let format: ExportFormat
    /// The name in the user's folder.
    let name: String

    /// Depends on the record alone.
    init(_ workout: WorkoutRecord, _ format: ExportFormat) {
        key = SessionKey(workout.user, workout.session)
        self.format = format
        let start = (workout.startedAt ?? workout.endedAt).map(Self.stamp) ?? "undated"
        let title = Self.title(workout.name) ?? Self.title(workout.activity.rawValue) ?? "workout"
        name = "\(start)-\(title)\(Self.ending(workout.session, format))"
    }

    /// Parses a ``path``. Any other path gives `nil`, such as one that leads out of the folder.
    init?(_ path: String) {
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

    /// The path in the export folder.
    var path: String { "\(key.user)/\(name)" }

    /// The ending of every name that a session's file of a format can have.
    static func ending(_ session: SessionID, _ format: ExportFormat) -> String { "-\(session).\(format)" }

    /// `2026-11-21T061503Z`.
    private static func stamp(_ time: Timestamp) -> String {
        // Years with four digits sort.
        let seconds = min(max(time.seconds, 0), 253_402_300_799).rounded(.down)
        return Date(timeIntervalSince1970: seconds).formatted(Date.ISO8601FormatStyle(timeSeparator: .omitted))
    }

    /// Lowercase letters and digits in words between dashes; `nil` when no such character is left.
    private static func title(_ name: String) -> String? {
        let folded = name.prefix(200).description.folding(options: .diacriticInsensitive, locale: nil)
        let words = folded.lowercased().utf8.split { !isPlain($0) }
        let title = words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "-").prefix(longestName)
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
