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

    /// Throws early what ``write(_:of:_:)`` would throw.
    func check() throws(Failure) {
        if case .file(let path) = place { _ = try check(path) }
    }

    /// - Parameter fill: writes the content.
    /// - Returns: the file's path, `nil` for standard output, and its size in bytes.
    /// - Throws: ``Failure``, `DurableFolder.Problem` or what `fill` throws; the file is unchanged then.
    func write(
        _ format: ExportFormat, of workout: WorkoutRecord, _ fill: (OpenFile) throws -> Void
    ) throws -> (path: String?, count: Int) {
        switch place {
        case .standardOutput:
            // Nothing is written of a workout that cannot be read to its end.
            let file = try OpenFile.temporary(in: FileManager.default.temporaryDirectory.path)
            try fill(file)
            try file.forEachPiece { piece in
                do {
                    try standardOutput.write(contentsOf: Data(piece))
                } catch {
                    throw Failure.standardOutput
                }
            }
            return (nil, file.count)
        case .file(let path): return (path, try write(to: path, fill))
        case .folder(let folder):
            let path = "\(folder)/\(ExportFile(workout, format).name)"
            return (path, try write(to: path, fill))
        }
    }

    private func write(to path: String, _ fill: (OpenFile) throws -> Void) throws -> Int {
        let mode = try check(path)
        let url = URL(filePath: path).resolvingSymlinksInPath()
        let folder = DurableFolder(path: url.deletingLastPathComponent().path)
        var count = 0
        let hidden = try folder.writeHidden("export", mode: mode ?? 0o666, isExact: mode != nil) { file in
            try fill(file)
            count = file.count
        }
        do {
            try folder.rename(hidden, to: url.lastPathComponent)
        } catch {
            try folder.remove(hidden)
            throw error
        }
        try folder.sync()
        return count
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
