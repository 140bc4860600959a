import CMosquitto
import Glibc

/// Interrupts the network loop's poll from any thread.
final class Wakeup: Sendable {
    /// Readable after ``signal()`` until ``clear()``.
    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        precondition(descriptor >= 0, "out of file descriptors")
    }

    func signal() {
        eventfd_write(descriptor, 1)
    }

    func clear() {
        var count: eventfd_t = 0
        eventfd_read(descriptor, &count)
    }

    deinit {
        close(descriptor)
    }
}
