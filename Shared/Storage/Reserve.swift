import Foundation
import Synchronization

/// A file beside a store that takes space on the disk for the commits that make room.
final class Reserve: Sendable {
    private let path: String
    private let size: Int
    private let isAllocated = Mutex(false)

    init(store path: String, size: Int) {
        self.path = path + ".reserve"
        self.size = size
    }

    /// Takes the space, unless the file has it already.
    func allocate() throws(StoreError) {
        let code = isAllocated.withLock { isAllocated -> Int32 in
            guard !isAllocated else { return 0 }
            let code = allocateFile()
            isAllocated = code == 0
            // A part of the space helps no commit and takes room from other programs.
            if code != 0 { unlink(path) }
            return code
        }
        guard code == 0 else {
            throw .notWritable("\(path): no room for \(size >> 20) MiB in reserve: \(String(cString: strerror(code)))")
        }
    }

    /// Returns the error's code, 0 if there is none.
    private func allocateFile() -> Int32 {
        let descriptor = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        return posix_fallocate(descriptor, 0, size)
    }

    /// Gives the space to the disk. Returns whether there was any.
    func release() -> Bool {
        isAllocated.withLock { isAllocated in
            defer { isAllocated = false }
            return isAllocated && unlink(path) == 0
        }
    }
}
