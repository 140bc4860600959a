import Foundation

/// The files of a store as the process opened them. What is written to a removed or replaced file is lost when the process ends.
struct OpenedFiles: Sendable {
    private struct File: Equatable {
        let device: dev_t
        let inode: ino_t

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (device, inode) = (status.st_dev, status.st_ino)
        }
    }

    private let files: [(path: String, file: File?)]

    /// - Parameter paths: files that exist and are open.
    init(_ paths: [String]) {
        files = paths.map { ($0, File($0)) }
    }

    /// - Throws: ``StoreError/vanished(path:)`` if a path no longer leads to the file that was opened.
    func verify() throws(StoreError) {
        for (path, file) in files where File(path) != file { throw .vanished(path: path) }
    }
}
