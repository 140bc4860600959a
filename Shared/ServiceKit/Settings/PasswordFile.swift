import CDispatch  // Release builds find the members of `stat` here.
import Foundation
import Glibc
package import MQTT

/// A file that contains one secret: a password or credentials.
package struct PasswordFile {
    package enum Problem: Error, CustomStringConvertible {
        case unreadable(String, reason: String)
        case notAFile(String)
        case readableByOthers(String)
        case empty(String)

        package var description: String {
            switch self {
            case .unreadable(let path, let reason): "cannot read \(path): \(reason)"
            case .notAFile(let path): "\(path) is not a regular file"
            case .readableByOthers(let path): "other accounts have access to \(path); run: chmod 600 \(path)"
            case .empty(let path): "\(path) is empty"
            }
        }
    }

    let path: String

    package init(path: String) {
        self.path = path
    }

    /// The file's text without trailing newlines. Follows symbolic links: container secrets are links.
    package func read() throws(Problem) -> Secret {
        // Without waiting: a FIFO has a writer at some time or never.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable() }
        defer { close(descriptor) }
        // Of the open file: the path may name another one by now.
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw unreadable() }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path) }
        guard Self.isPrivate(mode: status.st_mode, owner: status.st_uid, reader: geteuid()) else {
            throw .readableByOthers(path)
        }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Foundation.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw unreadable() }
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        let password = text.reversed().drop { $0.isNewline }.reversed()
        guard !password.isEmpty else { throw .empty(path) }
        return Secret(String(password))
    }

    /// Whether the owner alone has access, or root gave one group the right to read, as Kubernetes does for a process that is
    /// not root: then neither the process nor any other account can change the file.
    static func isPrivate(mode: mode_t, owner: uid_t, reader: uid_t) -> Bool {
        mode & 0o077 == 0 || (mode & 0o077 == 0o040 && owner == 0 && reader != 0)
    }

    private func unreadable() -> Problem {
        .unreadable(path, reason: String(cString: strerror(errno)))
    }
}
