import Bus
import CDispatch  // Release builds find the members of `stat` here.
import Foundation
import Glibc

/// The items and commands of one device in one session, in order, on disk until the finished workout covers them.
///
/// An append-only file of JSON lines, locked while it is open. Opening truncates an unfinished last line of a killed
/// process: it was never sent.
package final class QueueFile {
    package let path: String
    package let header: QueueHeader
    /// The contents of the file when it was opened.
    package let contents: QueueContents
    private let descriptor: Int32
    private var size: off_t

    /// Opens the file, or creates it with `header`.
    ///
    /// The stored header may differ from `header`; the caller decides whether it belongs to the same recording.
    package init(path: String, header: QueueHeader) throws(QueueError) {
        self.path = path
        descriptor = try Self.openLocked(path)
        do throws(QueueError) {
            (self.header, contents, size) = try Self.load(descriptor, path, header)
        } catch {
            Self.unlock(descriptor)
            throw error
        }
    }

    /// Writes a whole queue or nothing.
    static func create(_ path: String, _ header: QueueHeader, _ entries: [QueueEntry]) throws(QueueError) {
        // A crash leaves only a file that is no queue by its name.
        let draft = path + ".new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .failed(draft) }
        defer { close(descriptor) }
        let lines = [JSONCoding.encode(header)] + entries.map(\.line)
        _ = try write(lines.flatMap { $0 + [lineEnd] }, at: 0, descriptor, draft)
        guard fsync(descriptor) == 0, rename(draft, path) == 0 else { throw .failed(draft) }
        try syncFolder(of: path)
    }

    deinit {
        Self.unlock(descriptor)
    }

    /// Appends entries and returns when they are on disk. A failed write leaves the file unchanged.
    package func append(_ entries: [QueueEntry]) throws(QueueError) {
        guard !entries.isEmpty else { return }
        try write(entries)
        guard fdatasync(descriptor) == 0 else { throw .failed(path) }
    }

    /// Appends progress without syncing: after a crash the services send it again.
    package func note(_ entries: [QueueEntry]) throws(QueueError) {
        try write(entries)
    }

    /// The current contents of the file.
    package func readContents() throws(QueueError) -> QueueContents {
        try Self.parse(Self.readBytes(descriptor, path)[...], path).1
    }

    /// The first line of a file that another process may have open; `nil` if it cannot be read.
    static func header(of path: String) -> QueueHeader? {
        let bytes = (try? Data(contentsOf: URL(fileURLWithPath: path))) ?? Data()
        return try? JSONCoding.decode(QueueHeader.self, from: Array(bytes.prefix { $0 != lineEnd }))
    }

    /// Removes the file once the finished workout covers its items.
    package func remove() throws(QueueError) {
        guard unlink(path) == 0 else { throw .failed(path) }
    }

    /// Removes a file that another one in its folder replaces, if it still exists.
    static func removeReplaced(_ path: String) throws(QueueError) {
        // The process may have crashed before the other file's name was on disk.
        try syncFolder(of: path)
        guard unlink(path) == 0 || errno == ENOENT else { throw .failed(path) }
    }

    private static let lineEnd = UInt8(ascii: "\n")

    private func write(_ entries: [QueueEntry]) throws(QueueError) {
        size += try Self.write(entries.flatMap { $0.line + [Self.lineEnd] }, at: size, descriptor, path)
    }
}

extension QueueFile {
    private static func openLocked(_ path: String) throws(QueueError) -> Int32 {
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw .failed(path) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                close(descriptor)
                throw .inUse(path: path)
            }
            // The previous process may have removed the file between opening and locking.
            var (opened, named) = (stat(), stat())
            if fstat(descriptor, &opened) == 0, stat(path, &named) == 0, opened.st_ino == named.st_ino {
                return descriptor
            }
            unlock(descriptor)
        }
    }

    /// Closing alone may leave the file locked: a child process that is starting has it open for a moment.
    private static func unlock(_ descriptor: Int32) {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func readBytes(_ descriptor: Int32, _ path: String) throws(QueueError) -> [UInt8] {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .failed(path) }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let result = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress! + count, $0.count - count, off_t(count))
            }
            guard result > 0 else { throw .failed(path) }
            count += result
        }
        return bytes
    }

    /// The header, the contents and the size of the file; writes `header` to an empty one.
    private static func load(
        _ descriptor: Int32, _ path: String, _ header: QueueHeader
    ) throws(QueueError) -> (QueueHeader, QueueContents, off_t) {
        let bytes = try readBytes(descriptor, path)
        let complete = bytes[...(bytes.lastIndex(of: lineEnd) ?? -1)]
        if complete.count < bytes.count, ftruncate(descriptor, off_t(complete.count)) != 0 { throw .failed(path) }
        guard complete.isEmpty else {
            let (header, contents) = try parse(complete, path)
            return (header, contents, off_t(complete.count))
        }
        let size = try write(JSONCoding.encode(header) + [lineEnd], at: 0, descriptor, path)
        guard fsync(descriptor) == 0 else { throw .failed(path) }
        try syncFolder(of: path)
        return (header, QueueContents(), size)
    }

    /// Writes all bytes or none, and returns their number.
    private static func write(
        _ bytes: [UInt8], at offset: off_t, _ descriptor: Int32, _ path: String
    ) throws(QueueError) -> off_t {
        var count = 0
        while count < bytes.count {
            let result = bytes.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress! + count, $0.count - count, offset + off_t(count))
            }
            guard result > 0 else {
                let error = QueueError.failed(path)
                _ = ftruncate(descriptor, offset)
                throw error
            }
            count += result
        }
        return off_t(count)
    }

    /// Syncs the folder, which holds the name of a new file.
    private static func syncFolder(of path: String) throws(QueueError) {
        let folder = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        defer { close(folder) }
        guard folder >= 0, fsync(folder) == 0 else { throw .failed(path) }
    }

    private static func parse(
        _ bytes: ArraySlice<UInt8>, _ path: String
    ) throws(QueueError) -> (QueueHeader, QueueContents) {
        var number = 1
        do throws(PayloadError) {
            let lines = bytes.dropLast().split(separator: lineEnd, omittingEmptySubsequences: false)
            let header = try JSONCoding.decode(QueueHeader.self, from: lines[0])
            var contents = QueueContents()
            for line in lines.dropFirst() {
                number += 1
                try contents.add(QueueEntry(line: line))
            }
            return (header, contents)
        } catch {
            throw .damaged(path: path, line: number, reason: "\(error)")
        }
    }
}

extension QueueError {
    /// The error in `errno`.
    fileprivate static func failed(_ path: String) -> QueueError {
        .failed(path: path, reason: String(cString: strerror(errno)))
    }
}

/// Why a queue file cannot be used.
package enum QueueError: Error, Equatable, CustomStringConvertible {
    /// Another process has locked it.
    case inUse(path: String)
    /// A line is invalid. The file is unchanged.
    case damaged(path: String, line: Int, reason: String)
    /// Another recording or seed began the queue.
    case foreign(path: String)
    /// An operation on the file failed.
    case failed(path: String, reason: String)

    package var description: String {
        switch self {
        case .inUse(let path): "the queue \(path) is in use by another process; stop it or use another --session"
        case .damaged(let path, let line, let reason):
            "the queue \(path) is damaged at line \(line): \(reason); repair or remove the file"
        case .foreign(let path):
            "the queue \(path) belongs to another recording or seed; use another --session or remove the file"
        case .failed(let path, let reason): "the queue \(path) cannot be used: \(reason)"
        }
    }
}
