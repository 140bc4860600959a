import ServiceKit
import Synchronization

/// What the device wrote for people.
final class WrittenOutput: Sendable {
    private let written = Mutex((all: "", status: ""))
    /// Results and what went on meanwhile.
    var text: String { written.withLock(\.all) }
    /// What went on meanwhile.
    var status: String { written.withLock(\.status) }

    var terminal: Terminal {
        Terminal(
            output: { [self] more in written.withLock { $0.all += more } },
            status: { [self] more in
                written.withLock { written in
                    written.all += more
                    written.status += more
                }
            }, isInteractive: false)
    }
}
