import Foundation
package import MQTT

/// A file that contains one secret: a password or credentials.
package struct PasswordFile {
    package enum Problem: Error, CustomStringConvertible {
        case unreadable(String, reason: String)
        case readableByOthers(String)
        case empty(String)

        package var description: String {
            switch self {
            case .unreadable(let path, let reason): "cannot read \(path): \(reason)"
            case .readableByOthers(let path): "\(path) is readable by every user; run: chmod o-r \(path)"
            case .empty(let path): "\(path) is empty"
            }
        }
    }

    let path: String

    package init(path: String) {
        self.path = path
    }

    /// The file's text without trailing newlines.
    package func read() throws(Problem) -> Secret {
        guard let file = fopen(path, "re") else { throw unreadable() }
        defer { fclose(file) }
        guard try permissions() & 0o004 == 0 else { throw .readableByOthers(path) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { throw unreadable() }
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        let password = text.reversed().drop { $0.isNewline }.reversed()
        guard !password.isEmpty else { throw .empty(path) }
        return Secret(String(password))
    }

    /// Follows symbolic links: container secrets are links.
    private func permissions() throws(Problem) -> Int {
        let target = URL(filePath: path).resolvingSymlinksInPath().path
        do {
            return try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? Int ?? 0o777
        } catch {
            throw .unreadable(path, reason: error.localizedDescription)
        }
    }

    private func unreadable() -> Problem {
        .unreadable(path, reason: String(cString: strerror(errno)))
    }
}
