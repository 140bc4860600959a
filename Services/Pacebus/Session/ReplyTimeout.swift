import Client
import ServiceKit
import Workouts

/// The wait for a reply: after a moment a progress line names the component that the command waits for.
struct ReplyTimeout {
    /// Seconds until the command fails.
    static let limit = 30.0
    /// Seconds without a progress line.
    private static let quiet = 3.0

    private let user: User
    private let service: String
    private let began: Moment
    private var line: ProgressLine

    init(_ user: User, service: String = "session-engine", began: Moment, isInteractive: Bool) {
        self.user = user
        self.service = service
        self.began = began
        line = ProgressLine(isInteractive: isInteractive)
    }

    /// The progress to print now; `nil` if unchanged.
    ///
    /// - Throws: the component that did not reply in time.
    mutating func update(isConnected: Bool, _ now: Moment) throws(ControlService.Failure) -> String? {
        let seconds = now.seconds(since: began)
        guard seconds < Self.limit else { throw isConnected ? .noReply(user, from: service) : .noConnection }
        guard seconds >= Self.quiet else { return nil }
        let awaited = isConnected ? service : "the broker"
        return line.update("waiting for \(awaited), \(Int(seconds)) s of at most \(Int(Self.limit)) s", now)
    }

    /// Ends the progress line.
    mutating func finish() -> String { line.finish() }
}
