import Foundation

/// Holds a file named `<path>.lock` locked for as long as it lives; the system lets go of it when the process dies.
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
