import Foundation

/// Where an executable for people writes.
struct Terminal: Sendable {
    /// Standard output: results.
    var output: @Sendable (String) -> Void
    /// Standard error: what goes on meanwhile.
    var status: @Sendable (String) -> Void
    /// Whether a line of `status` can be overwritten.
    var isInteractive: Bool

    static let standard = Terminal(
        output: { write($0, to: .standardOutput) }, status: { write($0, to: .standardError) },
        isInteractive: isatty(STDERR_FILENO) == 1)

    /// A closed pipe loses the text and never stops the device.
    private static func write(_ text: String, to file: FileHandle) {
        try? file.write(contentsOf: Data(text.utf8))
    }
}
