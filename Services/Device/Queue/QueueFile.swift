import Bus
import Foundation

/// The items and commands of one device in one session, in order, kept on disk until the finished workout covers them.
///
/// A file of JSON lines that only grows. It is locked while it is open. A last line without an end, left by a process
/// that was killed while it wrote, is cut off on opening: nothing of it was sent.
final class QueueFile {
    let path: String
    let header: QueueHeader
    /// What the file held when it was opened.
    let contents: QueueContents
    private let descriptor: Int32
    private var size: off_t

    /// Opens the file, or begins it with `header`.
    ///
    /// The stored header may differ from `header`: it is for the caller to say whether that is another recording.
    init(path: String, header: QueueHeader) throws(QueueError) {
        self.path = path
        descriptor = try Self.openLocked(path)
        do throws(QueueError) {
            (self.header, contents, size) = try Self.load(descriptor, path, header)
        } catch {
            Self.unlock(descriptor)
            throw error
        }
    }

    /// Puts a queue on disk, whole or not at all.
    static func create(_ path: String, _ header: QueueHeader, _ entries: [QueueEntry]) throws(QueueError) {
        // Nothing that is left of it by a crash has a queue's name.
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

    /// Appends entries and returns when they are on disk. A write that fails leaves the file as it was.
    func append(_ entries: [QueueEntry]) throws(QueueError) {
        guard !entries.isEmpty else { return }
        try write(entries)
        guard fdatasync(descriptor) == 0 else { throw .failed(path) }
    }

    /// Appends progress. It need not survive a crash: what it tells, the services tell again.
    func note(_ entries: [QueueEntry]) throws(QueueError) {
        try write(entries)
    }

    /// What the file holds by now.
    func read() throws(QueueError) -> QueueContents {
        try Self.parse(Self.read(descriptor, path)[...], path).1
    }

    /// Takes the file away: the finished workout covers what it holds.
    func remove() throws(QueueError) {
        guard unlink(path) == 0 else { throw .failed(path) }
    }

    /// Takes away a file that another one in its folder has replaced, if it is still there.
    static func removeReplaced(_ path: String) throws(QueueError) {
        // A crash may have come between the other one's name and this.
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
            // Between opening and locking, its former user may have removed the file: then this is another one's ghost.
            var (opened, named) = (stat(), stat())
            if fstat(descriptor, &opened) == 0, stat(path, &named) == 0, opened.st_ino == named.st_ino {
                return descriptor
            }
            unlock(descriptor)
        }
    }

    /// A child that is being started may have the file open too for a moment, and closing it alone would leave it locked.
    private static func unlock(_ descriptor: Int32) {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func read(_ descriptor: Int32, _ path: String) throws(QueueError) -> [UInt8] {
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

    /// What the file holds, or `header` written to an empty one; and the file's size.
    private static func load(
        _ descriptor: Int32, _ path: String, _ header: QueueHeader
    ) throws(QueueError) -> (QueueHeader, QueueContents, off_t) {
        let bytes = try read(descriptor, path)
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

    /// Writes everything or nothing; the number of bytes.
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

    /// A new file's name is on disk only with its folder.
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
    /// What `errno` says.
    fileprivate static func failed(_ path: String) -> QueueError {
        .failed(path: path, reason: String(cString: strerror(errno)))
    }
}
