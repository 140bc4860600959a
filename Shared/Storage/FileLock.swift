import Foundation

/// A lock on a file named `<path>.lock`, held until deinit; the system releases it when the process dies.
///
/// The file outlives the lock, and says whether there was a store.
final class FileLock: Sendable {
    private let descriptor: Int32

    /// Whether a store of this path was opened before.
    var knowsStore: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_size > 0
    }

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

    /// Notes that there is a store.
    func noteStore() {
        guard !knowsStore else { return }
        let note = Array("A store exists. Without this file, an empty one may take its place.\n".utf8)
        // A full disk refuses the note; the next start writes it.
        _ = write(descriptor, note, note.count)
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
