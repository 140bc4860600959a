package import Client
import Synchronization

/// Records a command's output.
package final class TerminalRecorder: Sendable {
    private let printed = Mutex((all: "", status: ""))
    /// Results, progress and remarks.
    package var text: String { printed.withLock(\.all) }
    /// Progress and remarks.
    package var status: String { printed.withLock(\.status) }

    package init() {}

    package var terminal: Terminal {
        Terminal(
            output: { [self] more in printed.withLock { $0.all += more } },
            status: { [self] more in
                printed.withLock { printed in
                    printed.all += more
                    printed.status += more
                }
            }, isInteractive: false)
    }
}
