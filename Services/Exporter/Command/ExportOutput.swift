import Formats
import Foundation
import Workouts

/// Where an exported workout is written: whole or not at all. A file is like any other that its user makes; one that is
/// overwritten keeps its permissions, and a symbolic link to it stays.
struct ExportOutput: Sendable {
    enum Place: Equatable, Sendable {
        case standardOutput
        case file(String)
        /// Under the name that the workout's file has in a folder of exports.
        case folder(String)
    }

    enum Failure: Error, Equatable, CustomStringConvertible {
        case exists(String)
        case notAFile(String)
        case standardOutput

        var description: String {
            switch self {
            case .exists(let path): "\(path) exists already; --force overwrites it"
            case .notAFile(let path): "\(path) is not a file"
            case .standardOutput: "cannot write to standard output"
            }
        }
    }

    let place: Place
    /// Whether a file that exists may be overwritten.
    var overwrites = false
    /// Instead of it in tests.
    var standardOutput = FileHandle.standardOutput

    /// Says early what would be said when it is written.
    func check() throws(Failure) {
        if case .file(let path) = place { _ = try check(path) }
    }

    /// - Returns: the file's path; `nil` for standard output.
    /// - Throws: ``Failure`` or `DurableFolder.Problem`, and then the file is as it was.
    func write(_ bytes: [UInt8], of workout: WorkoutRecord, _ format: ExportFormat) throws -> String? {
        switch place {
        case .standardOutput:
            do {
                try standardOutput.write(contentsOf: Data(bytes))
            } catch {
                throw Failure.standardOutput
            }
            return nil
        case .file(let path):
            try write(bytes, to: path)
            return path
        case .folder(let folder):
            let path = "\(folder)/\(ExportFile(workout, format).name)"
            try write(bytes, to: path)
            return path
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let mode = try check(path)
        let url = URL(filePath: path).resolvingSymlinksInPath()
        let folder = DurableFolder(path: url.deletingLastPathComponent().path)
        let hidden = try folder.writeHidden(bytes, "export", mode: mode ?? 0o666, isExact: mode != nil)
        do {
            try folder.rename(hidden, to: url.lastPathComponent)
        } catch {
            try folder.remove(hidden)
            throw error
        }
        try folder.sync()
    }

    /// - Returns: who may read and write the file that is there.
    private func check(_ path: String) throws(Failure) -> mode_t? {
        guard !path.hasSuffix("/") else { throw .notAFile(path) }
        var status = stat()
        // A link that leads nowhere is none either.
        guard stat(path, &status) == 0 || lstat(path, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path) }
        guard overwrites else { throw .exists(path) }
        return status.st_mode & 0o777
    }
}
