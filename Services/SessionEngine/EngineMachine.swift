import Bus
import Workouts

/// The sessions of all users that this process owns, and what commands, requests, items and time do to them.
///
/// A value: it reads no clock, performs nothing and returns what to do. Its memory runs ahead of the disk by one commit.
struct EngineMachine {
    /// How long a session in `saving` waits for its summaries.
    static let savingPatience = 10.0
    /// How long after the last late item a finished record is revised.
    static let lateQuiet = 30.0
    /// How long topics stay retained after their last revision, and how long a canceled session can be recovered.
    static let retention = 48 * 3_600.0
    /// How long it is told that a session was deleted.
    static let deletedRetention = 90 * 86_400.0
    /// `lastActiveAt` moves with another change, else at most this often.
    static let activityInterval = 600.0
    /// After a connect the retained `metrics` are awaited before anything expires.
    static let hearingTime = 60.0
    /// Replies that are kept of one session.
    static let replyLimit = 2_000

    struct Entry {
        var record: SessionRecord
        /// Replies to the accepted commands, by the command's id.
        var replies: [CommandID: Reply] = [:]
        /// When to finish with the summaries that are there.
        var finishBy: Timestamp?
        /// When to revise the finished record with what came late.
        var reviseBy: Timestamp?
        /// When something was last heard of it: a command, or new items.
        var heardAt: Timestamp
        /// What this process published since the connection began comes back as an echo.
        var echoes = Echoes()
    }

    var entries: [SessionKey: Entry] = [:]
    var users: [User: UserRecord] = [:]
    private var sessionsByUser: [User: Set<SessionKey>] = [:]
    /// Entries that time alone may change soon.
    private(set) var waiting: Set<SessionKey> = []
    /// The first revisions of each user's `current` and `profile` published since the connection began.
    var userEchoes: [User: UserEchoes] = [:]
    var connectedAt: Timestamp?
    var sweptAt: Timestamp?
    /// Sessions in memory by status, as of the last sweep.
    var statusCounts: [SessionStatus: Int] = [:]

    /// Takes over a session from the store. What it waits for is waited for anew.
    mutating func load(_ record: SessionRecord, replies: [CommandID: Reply], now: Timestamp) {
        var entry = Entry(record: record, replies: replies, heardAt: record.lastActiveAt)
        if record.session.statusName == .saving { entry.finishBy = now + Self.savingPatience }
        if let workout = record.workout, record.report.map({ $0.revision != workout.summaries["metrics"] }) ?? false {
            entry.reviseBy = now + Self.lateQuiet
        }
        store(entry, record.session.key)
    }

    mutating func store(_ entry: Entry, _ key: SessionKey) {
        entries[key] = entry
        sessionsByUser[key.user, default: []].insert(key)
        if entry.finishBy != nil || entry.reviseBy != nil || entry.record.session.deadline != nil {
            waiting.insert(key)
        } else {
            waiting.remove(key)
        }
    }

    mutating func forget(_ key: SessionKey) {
        entries[key] = nil
        waiting.remove(key)
        sessionsByUser[key.user]?.remove(key)
        if sessionsByUser[key.user]?.isEmpty == true { sessionsByUser[key.user] = nil }
    }

    /// Forgets users that are another process's now.
    mutating func drop(where isLost: (User) -> Bool) {
        for key in entries.keys where isLost(key.user) { forget(key) }
        for user in users.keys where isLost(user) { users[user] = nil }
    }

    func sessions(of user: User) -> [SessionKey] { sessionsByUser[user, default: []].sorted() }

    /// The user's session that goes on; one that was over as it was begun is none to resume.
    func unfinished(_ user: User) -> SessionRecord? {
        sessions(of: user).lazy.compactMap { entries[$0]?.record }.first {
            $0.session.isUnfinished && $0.session.endAt == nil
        }
    }

    /// The unfinished session that stands in the way of one from `start` to `end`.
    func obstacle(_ user: User, from start: Timestamp, to end: Timestamp?) -> SessionKey? {
        sessions(of: user).first { key in
            guard let session = entries[key]?.record.session else { return false }
            return session.isUnfinished && session.overlaps(from: start, to: end)
        }
    }

    /// Gives a record a revision above every one that this user's sessions ever had, so that `current` can take it over.
    func bump(_ record: inout SessionRecord, _ now: Timestamp) {
        let user = record.session.key.user
        record.revision = max(max(currentRevision(user), record.revision) + 1, now.milliseconds)
    }

    /// The revision of the user's `current`: it moves with every session of the user.
    func currentRevision(_ user: User) -> Int64 {
        sessionsByUser[user]?.compactMap { entries[$0]?.record.revision }.max() ?? 0
    }
}
