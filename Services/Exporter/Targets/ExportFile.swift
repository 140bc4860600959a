import Foundation
import Workouts

/// A file that holds a workout, below the folder of exports: `anna/2026-11-21T061503Z-morning-run-<session>.fit`.
///
/// A user's files sort by the start of the workout, and no two workouts share one.
struct ExportFile: Hashable {
    /// Of the workout's name; the session, which stands whole in the name, is what keeps files apart.
    static let longestName = 40

    let key: SessionKey
    let format: ExportFormat
    /// In the user's folder.
    let name: String

    /// Follows from the record alone.
    init(_ workout: WorkoutRecord, _ format: ExportFormat) {
        key = SessionKey(workout.user, workout.session)
        self.format = format
        let start = (workout.startedAt ?? workout.endedAt).map(Self.stamp) ?? "undated"
        let title = Self.title(workout.name) ?? Self.title(workout.activity.rawValue) ?? "workout"
        name = "\(start)-\(title)-\(workout.session).\(format)"
    }

    /// Reads a path as ``path`` writes it; `nil` for any other, such as one that leads out of the folder.
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

    /// Below the folder of exports.
    var path: String { "\(key.user)/\(name)" }

    /// `2026-11-21T061503Z`.
    private static func stamp(_ time: Timestamp) -> String {
        // Years of four digits: others would not sort.
        let seconds = min(max(time.seconds, 0), 253_402_300_799).rounded(.down)
        return Date(timeIntervalSince1970: seconds).formatted(Date.ISO8601FormatStyle(timeSeparator: .omitted))
    }

    /// Lowercase letters and digits in words between dashes; `nil` when nothing of it can be kept.
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
