import ServiceKit
import Workouts

/// The wait for an answer in a shell: tells after a moment who keeps it, and is given up in the end.
struct Wait {
    /// Seconds until nobody can be expected to answer any more.
    static let patience = 30.0
    /// Seconds in which most answers come.
    private static let quiet = 3.0

    private let user: User
    private let began: Timestamp
    private var line: ProgressLine

    init(_ user: User, began: Timestamp, isInteractive: Bool) {
        self.user = user
        self.began = began
        line = ProgressLine(isInteractive: isInteractive)
    }

    /// What to write of it now; `nil` when there is nothing new.
    ///
    /// - Throws: who did not answer, when it has been long enough.
    mutating func update(_ link: EngineLink, _ now: Timestamp) throws(ControlService.Failure) -> String? {
        let seconds = now.seconds(since: began)
        guard seconds < Self.patience else { throw link.isConnected ? .noAnswer(user) : .noConnection }
        guard seconds >= Self.quiet else { return nil }
        let awaited = link.isConnected ? "session-engine" : "the broker"
        return line.update("waiting for \(awaited), \(Int(seconds)) s of at most \(Int(Self.patience)) s", now)
    }

    /// Leaves the line.
    mutating func finish() -> String { line.finish() }
}
