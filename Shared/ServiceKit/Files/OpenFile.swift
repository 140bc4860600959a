import Foundation

/// A file that is written from its start to its end and read at any place. The last reference closes it.
package final class OpenFile: Sendable {
    private let descriptor: Int32
    /// Named in problems.
    private let path: String
    private let mayGrow: @Sendable (Int) -> Bool

    /// - Parameter mayGrow: asked before each number of bytes is appended; `false` is a disk quota that is used up.
    init(_ descriptor: Int32, path: String, mayGrow: @escaping @Sendable (Int) -> Bool = { _ in true }) {
        self.descriptor = descriptor
        self.path = path
        self.mayGrow = mayGrow
    }

    deinit {
        close(descriptor)
    }

    /// Creates a file without a name, which is gone with its last reference and with the process. The folder is created if
    /// missing.
    package static func temporary(
        in folder: String, mayGrow: @escaping @Sendable (Int) -> Bool = { _ in true }
    ) throws(DurableFolder.Problem) -> OpenFile {
        try DurableFolder(path: folder).make()
        let path = "\(folder)/.\(UUID()).part"
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0, unlink(path) == 0 else { throw DurableFolder.Problem(path: folder) }
        return OpenFile(descriptor, path: folder, mayGrow: mayGrow)
    }

    /// The bytes so far.
    package var count: Int { max(0, Int(lseek(descriptor, 0, SEEK_END))) }

    /// - Returns: the place of the first of the bytes.
    @discardableResult
    package func append(_ bytes: [UInt8]) throws(DurableFolder.Problem) -> Int {
        guard mayGrow(bytes.count) else { throw DurableFolder.Problem(path: path, code: EDQUOT) }
        let start = count
        try write(bytes, at: start)
        return start
    }

    /// Replaces the first bytes.
    package func replaceStart(_ bytes: [UInt8]) throws(DurableFolder.Problem) {
        try write(bytes, at: 0)
    }

    private func write(_ bytes: [UInt8], at start: Int) throws(DurableFolder.Problem) {
        var (rest, offset) = (bytes[...], start)
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
            if written > 0 {
                rest = rest.dropFirst(written)
                offset += written
            } else if written == 0 {
                throw DurableFolder.Problem(path: path, code: ENOSPC)
            } else if errno != EINTR {
                throw DurableFolder.Problem(path: path)
            }
        }
    }

    /// The bytes of a range; fewer if the file ends in it.
    package func read(_ range: Range<Int>) throws(DurableFolder.Problem) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var count = 0
        while count < bytes.count {
            let read = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress! + count, buffer.count - count, off_t(range.lowerBound + count))
            }
            if read == 0 { break }
            if read > 0 { count += read } else if errno != EINTR { throw DurableFolder.Problem(path: path) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    package static let pieceSize = 64 << 10

    /// Passes all bytes to `body` in pieces.
    package func forEachPiece(_ body: ([UInt8]) throws -> Void) throws {
        for start in stride(from: 0, to: count, by: Self.pieceSize) {
            try body(try read(start..<start + Self.pieceSize))
        }
    }

    func sync() throws(DurableFolder.Problem) {
        guard fsync(descriptor) == 0 else { throw DurableFolder.Problem(path: path) }
    }
}
