package import ServiceKit

/// The progress of a command: on a terminal one line that is overwritten, otherwise a line every few seconds.
package struct ProgressLine {
    private static let lineInterval = 5.0
    private static let updateInterval = 0.2
    private static let clear = "\r\u{1B}[K"

    private let isInteractive: Bool
    private var writtenAt: Moment?
    private var isLineOpen = false

    package init(isInteractive: Bool) {
        self.isInteractive = isInteractive
    }

    /// The text to write now; `nil` right after the last update.
    package mutating func update(_ text: String, _ now: Moment) -> String? {
        let interval = isInteractive ? Self.updateInterval : Self.lineInterval
        if let writtenAt, now.seconds(since: writtenAt) < interval { return nil }
        writtenAt = now
        isLineOpen = isInteractive
        return isInteractive ? Self.clear + text : text + "\n"
    }

    /// A line of text that stays above the progress.
    package mutating func remark(_ text: String) -> String {
        defer { isLineOpen = false }
        return (isLineOpen ? Self.clear : "") + text + "\n"
    }

    /// Ends an overwritten line.
    package mutating func finish() -> String {
        defer { isLineOpen = false }
        return isLineOpen ? "\n" : ""
    }
}
