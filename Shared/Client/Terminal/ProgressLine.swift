package import ServiceKit
import Workouts

/// The progress of a command: on a terminal one line that is overwritten, otherwise a line every few seconds.
package struct ProgressLine {
    private static let lineInterval = 5.0
    private static let updateInterval = 0.2
    private static let clear = "\r\u{1B}[K"
    /// Without wrapping, the terminal cuts off a long line: only one row can be overprinted.
    private static let (unwrapped, wrapped) = ("\u{1B}[?7l", "\u{1B}[?7h")

    private let isInteractive: Bool
    private var writtenAt: Moment?
    private var isLineOpen = false
    /// The text of the last update.
    private var shown: String?

    package init(isInteractive: Bool) {
        self.isInteractive = isInteractive
    }

    /// The text to write now; `nil` right after the last update.
    ///
    /// - Parameters:
    ///   - text: one line; its control characters are escaped.
    ///   - isCut: whether a terminal cuts off what exceeds a row.
    package mutating func update(_ text: String, _ now: Moment, isCut: Bool = false) -> String? {
        let interval = isInteractive ? Self.updateInterval : Self.lineInterval
        if let writtenAt, now.seconds(since: writtenAt) < interval { return nil }
        writtenAt = now
        isLineOpen = isInteractive
        shown = text
        let text = text.escapingControlCharacters()
        guard isInteractive else { return text + "\n" }
        return Self.clear + (isCut ? Self.unwrapped + text + Self.wrapped : text)
    }

    /// A line of text that stays above the progress, with control characters escaped.
    package mutating func remark(_ text: String) -> String {
        defer { isLineOpen = false }
        return (isLineOpen ? Self.clear : "") + text.escapingControlCharacters() + "\n"
    }

    /// Ends an overwritten line. A last text is written unless it is shown already.
    package mutating func finish(_ text: String? = nil) -> String {
        defer { isLineOpen = false }
        guard let text, text != shown else { return isLineOpen ? "\n" : "" }
        shown = text
        return (isLineOpen ? Self.clear : "") + text.escapingControlCharacters() + "\n"
    }
}
