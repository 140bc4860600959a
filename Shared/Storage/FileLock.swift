import Foundation

/// A lock on a file named `<path>.lock`, held until deinit; the system releases it when the process dies.
final class FileLock: Sendable {
    private let descriptor: Int32

    init(path: String) throws(StoreError) {
        let lockPath = path + ".lock"
        descriptor = open(lockPath, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .notWritable("\(lockPath): \(String(cString: strerror(errno)))") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            throw code == EWOULDBLOCK
                ? .inUse(path: path) : .notWritable("\(lockPath): \(String(cString: strerror(code)))")
        }
    }

    deinit {
        // Closing alone is not enough: a child that was just forked has the descriptor too, until it runs its program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

/// Creates an empty file that its owner alone can read; SQLite gives the files beside it the same mode.
func createFile(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
        close(descriptor)
    } else if errno != EEXIST {
        throw .notWritable("\(path): \(String(cString: strerror(errno)))")
    }
}
