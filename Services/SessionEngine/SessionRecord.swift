import Bus
import Storage
import Workouts

/// What the engine keeps of a session: on disk as JSON, in memory while it runs.
struct SessionRecord: Codable, Equatable, Sendable {
    var session: Session
    /// Of the published `state`.
    var revision: Int64
    /// The revision that the latest `end` made; a summary that is older was made from another session.
    var endRevision: Int64 = 0
    /// The newest totals of the samples that were heard of.
    var report: MetricsReport?
    /// The finished record as it was last published.
    var workout: WorkoutRecord?

    var state: SessionState { session.state(revision: revision) }

    /// Whether all that was announced is in the totals.
    var isCovered: Bool { session.isCovered(by: report, endRevision: endRevision) }
}

extension SessionRecord {
    /// `user/session` → the record.
    static let sessions = StoreCollection("sessions")
    /// `user/session/command` → the reply, so that a command repeated is not applied twice.
    static let replies = StoreCollection("replies")
    /// Records that could not be read, set aside under their own keys.
    static let corrupt = StoreCollection("corrupt")

    static let schema = StoreSchema(service: "session-engine", steps: [[sessions, replies, corrupt]])
}
