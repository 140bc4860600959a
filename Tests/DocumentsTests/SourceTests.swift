import Foundation
import Testing

struct SourceTests {
    /// What a regular expression needs: a literal or one of these words.
    private static let words = [
        "Regex", "NSRegularExpression", "#/", "firstMatch(", "wholeMatch(", "prefixMatch(", ".matches(of",
        ".regularExpression",
    ]

    // Backtracking takes time that grows with the square of the input, or worse.
    @Test func `no program contains a regular expression`() throws {
        var count = 0
        for folder in ["Services", "Shared"] {
            let root = Document.repository.appending(path: folder)
            for path in try FileManager.default.subpathsOfDirectory(atPath: root.path) where path.hasSuffix(".swift") {
                let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
                for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                    let literal = line.firstMatch(of: /[(:=,] ?\/[^\/*, ]/) != nil && !line.contains(": \"")
                    #expect(!literal && !Self.words.contains { line.contains($0) }, "\(folder)/\(path): \(line)")
                }
                count += 1
            }
        }
        #expect(count > 200)
    }
}
