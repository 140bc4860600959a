extension Unicode.Scalar {
    /// Whether printing it can do more than show one character: control characters of terminals, line separators, and the
    /// controls that reverse the direction of text.
    package var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
        }
    }
}

extension StringProtocol {
    package var hasControlCharacters: Bool { unicodeScalars.contains(where: \.isControl) }

    /// The text with control characters as `\u{1B}`, for terminals and logs.
    ///
    /// - Parameter kept: a control character that stays.
    package func escapingControlCharacters(except kept: Unicode.Scalar? = nil) -> String {
        guard hasControlCharacters else { return String(self) }
        return unicodeScalars.map { $0.isControl && $0 != kept ? $0.escaped(asASCII: true) : String($0) }.joined()
    }
}
