import Foundation

/// The output of an interactive command.
package struct Terminal: Sendable {
    /// Standard output: results.
    package var output: @Sendable (String) -> Void
    /// Standard error: progress and remarks.
    package var status: @Sendable (String) -> Void
    /// Whether a line of `status` can be overwritten.
    package var isInteractive: Bool

    package init(
        output: @escaping @Sendable (String) -> Void, status: @escaping @Sendable (String) -> Void, isInteractive: Bool
    ) {
        self.output = output
        self.status = status
        self.isInteractive = isInteractive
    }

    package static let standard = Terminal(
        output: { write($0, to: .standardOutput) }, status: { write($0, to: .standardError) },
        isInteractive: isatty(STDERR_FILENO) == 1)

    /// A closed pipe loses the text and never stops the command.
    private static func write(_ text: String, to file: FileHandle) {
        try? file.write(contentsOf: Data(text.utf8))
    }
}
