import Foundation

/// A Markdown page of the repository.
struct Document: Sendable {
    static let repository = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    /// Its path below the repository.
    let path: String
    /// Its text without code.
    private let prose: String

    init(_ path: String) throws {
        self.path = path
        let text = try String(contentsOf: Self.repository.appending(path: path), encoding: .utf8)
        let parts = text.components(separatedBy: "\n```").enumerated().filter { $0.offset.isMultiple(of: 2) }
        prose = parts.map(\.element).joined(separator: "\n").replacing(/`[^`\n]*`/) { $0.0.filter { $0 != "[" } }
    }

    /// All pages below the repository's folders.
    static func all() throws -> [Document] {
        let folders = try ["Services", "Shared", "Tests", "compose"].flatMap { folder in
            try FileManager.default.subpathsOfDirectory(atPath: repository.appending(path: folder).path)
                .map { "\(folder)/\($0)" }
        }
        return try (["README.md"] + folders.filter { $0.hasSuffix(".md") }).map(Document.init)
    }

    /// The targets of its links to other files and headings.
    var links: [String] {
        prose.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }.filter { !$0.contains("://") }
    }

    /// The anchors of its headings.
    var anchors: Set<String> {
        Set(
            prose.split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
                line.drop { $0 == "#" }.dropFirst().lowercased().replacing(" ", with: "-")
                    .filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
            })
    }

    /// The file a link names, relative to the page.
    func file(of link: Substring) -> String {
        link.isEmpty
            ? path
            : URL(filePath: "/" + path).deletingLastPathComponent().appending(path: link).standardized.path.dropFirst()
                .description
    }
}
