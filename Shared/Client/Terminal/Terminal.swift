import Foundation
import Workouts

/// The output of an interactive command.
package struct Terminal: Sendable {
    private let writeOutput: @Sendable (String) -> Void
    private let writeStatus: @Sendable (String) -> Void
    /// Whether a line of ``progress(_:)`` can be overwritten.
    package var isInteractive: Bool

    package init(
        output: @escaping @Sendable (String) -> Void, status: @escaping @Sendable (String) -> Void, isInteractive: Bool
    ) {
        writeOutput = output
        writeStatus = status
        self.isInteractive = isInteractive
    }

    /// Writes results to standard output. Text may come from another account, so control characters are escaped.
    package func output(_ text: String) {
        writeOutput(text.escapingControlCharacters(except: "\n"))
    }

    /// Writes a remark to standard error, with control characters escaped.
    package func status(_ text: String) {
        writeStatus(text.escapingControlCharacters(except: "\n"))
    }

    /// Writes what a ``ProgressLine`` returned to standard error.
    package func progress(_ text: String) {
        writeStatus(text)
    }

    /// The rows of a terminal; `nil` if output is no terminal.
    package var height: Int? {
        var size = winsize()
        guard isInteractive, ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 2 else { return nil }
        return Int(size.ws_row)
    }

    package static let standard = Terminal(
        output: { write($0, to: .standardOutput) }, status: { write($0, to: .standardError) },
        isInteractive: isatty(STDERR_FILENO) == 1)

    /// A closed pipe loses the text and never stops the command.
    private static func write(_ text: String, to file: FileHandle) {
        try? file.write(contentsOf: Data(text.utf8))
    }
}
