import CDispatch  // Release builds find the members of `stat` here.
import Formats
import Foundation
import Glibc
import ServiceKit
import Workouts

/// The destination of an exported workout, which is written whole or not at all. A new file has the user's default
/// permissions; an overwritten one keeps its permissions and symbolic links to it.
struct ExportOutput: Sendable {
    enum Place: Equatable, Sendable {
        case standardOutput
        case file(String)
        /// A file in this folder with the name that the exporter uses.
        case folder(String)
    }

    enum Failure: Error, Equatable, CustomStringConvertible {
        case exists(String)
        case notAFile(String)
        case standardOutput

        var description: String {
            switch self {
            case .exists(let path): "\(path) exists; --force overwrites it"
            case .notAFile(let path): "\(path) is not a file"
            case .standardOutput: "cannot write to standard output"
            }
        }
    }

    let place: Place
    /// Whether to overwrite an existing file.
    var overwrites = false
    /// Replaced in tests.
    var standardOutput = FileHandle.standardOutput

    /// Throws early what ``write(_:named:)`` would throw.
    func check() throws(Failure) {
        if case .file(let path) = place { _ = try check(path) }
    }

    /// Writes a copy of a file.
    ///
    /// - Parameter name: the name in a folder.
    /// - Returns: the copy's path, `nil` for standard output, and its size in bytes.
    /// - Throws: ``Failure`` or `DurableFolder.Problem`; the destination is unchanged then.
    func write(_ content: OpenFile, named name: String) throws -> (path: String?, count: Int) {
        switch place {
        case .standardOutput:
            try content.forEachPiece { piece in
                do {
                    try standardOutput.write(contentsOf: Data(piece))
                } catch {
                    throw Failure.standardOutput
                }
            }
            return (nil, content.count)
        case .file(let path): return (path, try write(content, to: path))
        case .folder(let folder):
            let path = "\(folder)/\(name)"
            return (path, try write(content, to: path))
        }
    }

    private func write(_ content: OpenFile, to path: String) throws -> Int {
        let mode = try check(path)
        let url = URL(filePath: path).resolvingSymlinksInPath()
        let folder = DurableFolder(path: url.deletingLastPathComponent().path)
        let hidden = try folder.writeHidden("export", mode: mode ?? 0o666, isExact: mode != nil) { file in
            try content.forEachPiece { piece in try file.append(piece) }
        }
        do {
            try folder.rename(hidden, to: url.lastPathComponent)
        } catch {
            try folder.remove(hidden)
            throw error
        }
        try folder.sync()
        return content.count
    }

    /// - Returns: the permissions of an existing file.
    private func check(_ path: String) throws(Failure) -> mode_t? {
        guard !path.hasSuffix("/") else { throw .notAFile(path) }
        var status = stat()
        // A symbolic link to nothing is no regular file either.
        guard stat(path, &status) == 0 || lstat(path, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path) }
        guard overwrites else { throw .exists(path) }
        return status.st_mode & 0o777
    }
}
