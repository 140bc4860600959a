import Bus
import Storage
import Workouts

/// What the engine keeps of a session: on disk as JSON, in memory while something may still happen to it.
struct SessionRecord: Codable, Equatable, Sendable {
    var session: Session
    /// Of the published `state`.
    var revision: Int64
    /// The revision that the latest `end` made; a summary that is older was made from another session.
    var endRevision: Int64 = 0
    /// When the engine last heard of it, as far as it was published.
    var lastActiveAt: Timestamp
    /// How many items it was last known to have, and the time of the newest.
    var itemCount = 0
    var newest: Timestamp?
    /// The newest totals of the samples that were heard of.
    var report: MetricsReport?
    /// The finished record as it was last published.
    var workout: WorkoutRecord?

    var state: SessionState { session.state(revision: revision, lastActiveAt: lastActiveAt) }

    /// Whether all that was announced is in the totals.
    var isCovered: Bool { session.isCovered(by: report, endRevision: endRevision) }

    /// Of `state` and `workout`, the one that was revised last, by the clock that revisions are made from.
    var revisedAt: Timestamp {
        Timestamp(microseconds: max(revision, workout?.revision ?? 0) * 1_000)
    }
}

/// What the engine keeps of a user.
struct UserRecord: Codable, Equatable, Sendable {
    /// So many accepted requests are remembered.
    static let replyLimit = 100

    var profile = Profile()
    /// Of the published `profile`; 0 before the first.
    var revision: Int64 = 0
    /// The replies to the latest accepted requests, oldest first.
    var replies: [Reply] = []
}

extension SessionRecord {
    /// `user/session` → the record, while its topics stand retained.
    static let sessions = StoreCollection("sessions")
    /// `user/session` → the record, from then on.
    static let history = StoreCollection("history")
    /// `user/session/command` → the reply, so that a command repeated is not applied twice.
    static let replies = StoreCollection("replies")
    /// `user` → the `UserRecord`.
    static let users = StoreCollection("users")
    /// Records that could not be read, set aside under their own keys.
    static let corrupt = StoreCollection("corrupt")

    static let schema = StoreSchema(service: "session-engine", steps: [[sessions, history, replies, users, corrupt]])
}
