import ServiceKit
import Synchronization

/// What the device wrote for people.
final class WrittenOutput: Sendable {
    private let written = Mutex("")
    var text: String { written.withLock(\.self) }

    var terminal: Terminal {
        Terminal(
            output: { [self] more in written.withLock { $0 += more } },
            status: { [self] more in written.withLock { $0 += more } }, isInteractive: false)
    }
}
