package import Workouts

/// The answer to a command or request, on `replies/{client}`: sent only after the change is on disk.
package struct Reply: Codable, Hashable, Sendable {
    package var id: CommandID
    package var ok: Bool
    /// The revision of the session's `state` after the command.
    package var revision: Int64?
    /// The engine's clock, so that a device whose clock is off can correct its own.
    package var now: Timestamp
    /// When the command counts as having happened.
    package var at: Timestamp?
    package var error: Refusal?
    /// A page of history, newest first, for a request that asked for it.
    package var workouts: [WorkoutOverview]?
    /// The last workout's place: the `before` of the request for the next page; absent on the last page.
    package var next: HistoryPlace?

    package init(id: CommandID, revision: Int64?, now: Timestamp, error: Refusal? = nil) {
        self.id = id
        ok = error == nil
        self.revision = revision
        self.now = now
        self.error = error
    }
}
