package import Workouts

/// Tells how far something has come: one line written anew on a terminal, elsewhere a line every few seconds.
package struct ProgressLine {
    private static let lineInterval = 5.0
    private static let updateInterval = 0.2
    private static let clear = "\r\u{1B}[K"

    private let isInteractive: Bool
    private var writtenAt: Timestamp?
    private var isLineOpen = false

    package init(isInteractive: Bool) {
        self.isInteractive = isInteractive
    }

    /// What to write about `text` now; nothing when that was done a moment ago.
    package mutating func update(_ text: String, _ now: Timestamp) -> String? {
        let interval = isInteractive ? Self.updateInterval : Self.lineInterval
        if let writtenAt, now.seconds(since: writtenAt) < interval { return nil }
        writtenAt = now
        isLineOpen = isInteractive
        return isInteractive ? Self.clear + text : text + "\n"
    }

    /// Something that stays, above the line.
    package mutating func remark(_ text: String) -> String {
        defer { isLineOpen = false }
        return (isLineOpen ? Self.clear : "") + text + "\n"
    }

    /// Ends the line that is written anew.
    package mutating func finish() -> String {
        defer { isLineOpen = false }
        return isLineOpen ? "\n" : ""
    }
}
