import Bus
import ServiceKit
import Storage
import Workouts

/// The stored record of a session: JSON on disk, and in memory while the session can still change.
struct SessionRecord: Codable, Equatable, Sendable {
    var session: Session
    /// The revision of the published `state`.
    var revision: Int64
    /// The revision of the session's published `profile`; absent if the user had none.
    var profileRevision: Int64?
    /// The revision of the latest `end`. Summaries of older revisions are outdated.
    var endRevision: Int64 = 0
    /// The published time of the last event.
    var lastActiveAt: Moment
    /// The last known number of samples.
    var itemCount = 0
    /// The last known number of locations.
    var locationCount: Int?
    /// The newest received `heard` of each kind.
    var heardSamples: HeardRevision?
    var heardLocations: HeardRevision?
    /// The devices whose wrong clock was announced.
    var skewedDevices: Set<Device>?
    /// The time of the newest item.
    var newest: Timestamp?
    /// The newest received totals of the samples.
    var report: MetricsReport?
    /// The newest received totals of the locations.
    var route: RouteReport?
    /// The last received value.
    var weather: Weather?
    /// The last published finished record.
    var workout: WorkoutRecord?
    /// The edit in the finished record.
    var finishedEdit: WorkoutEdit?
    /// The number of the last change of the finished record or, of a deleted session, of its deletion; absent if readers do
    /// not know the workout.
    var changed: Int64?
    /// The time of the last revision of `state` or `workout` by the service's clock.
    var publishedAt: Moment
    /// The last announced phase of the plan's clock.
    var announced: PlanCue.Phase?

    var state: SessionState {
        var state = session.state(
            revision: revision, profileRevision: profileRevision, clockSkew: clockSkew,
            lastActiveAt: lastActiveAt.wallClock)
        // A service that was down may still need the others' results for this one.
        if isShort { state.isPast = nil }
        return state
    }

    /// The seconds by which clocks of devices are ahead.
    var clockSkew: [Device: Double] {
        (heardSamples?.clockSkew ?? [:]).merging(heardLocations?.clockSkew ?? [:]) { samples, _ in samples }
    }

    /// The plan at the last revision of the state.
    var planState: PlanState? { session.planState(revisedAt) }

    /// The time of the next announcement of a phase.
    var cueDue: Timestamp? {
        guard let cue = session.planCue(revisedAt) else { return nil }
        return cue.phase == announced ? session.phaseEnd(after: revisedAt) : revisedAt
    }

    /// Limits moments that were stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) {
        lastActiveAt = lastActiveAt.atMost(now)
        publishedAt = publishedAt.atMost(now)
    }

    /// Whether the totals contain all announced samples.
    var hasSamples: Bool { session.isCovered(.samples, by: report, endRevision: endRevision) }

    /// Whether the totals contain all announced items, and those of the samples the newest route.
    var isComplete: Bool {
        guard session.announces(.locations) || hasLocations else { return hasSamples }
        return hasSamples && session.isCovered(.locations, by: route, endRevision: endRevision)
            && report?.route == route?.revision
    }

    /// Whether there are locations, announced or not.
    private var hasLocations: Bool { route?.next.values.contains { $0 > 0 } ?? false }

    /// Whether the finished record lacks announced items.
    var isShort: Bool {
        workout.map { $0.incomplete == true || !session.holdsAnnounced($0.next) } ?? true
    }

    /// Whether the finished record lacks an edit.
    var lacksEdit: Bool { workout != nil && finishedEdit != session.edit }

    /// Whether it lacks an edit that the totals take in.
    var lacksEditOfTotals: Bool {
        lacksEdit && (finishedEdit ?? WorkoutEdit()).ofTotals != (session.edit ?? WorkoutEdit()).ofTotals
    }

    /// Whether the totals are newer than the finished record.
    var isRevised: Bool {
        guard let workout else { return false }
        return report?.revision != workout.summaries["metrics"] || isRouteRevised(workout)
            || weather != workout.weather || session.segments != workout.segments || session.endedAt != workout.endedAt
            || session.timeZone != workout.timeZone || lacksEdit
    }

    private func isRouteRevised(_ workout: WorkoutRecord) -> Bool {
        guard let used = workout.summaries["route"] else {
            // A session without locations has an empty summary.
            return hasLocations
        }
        return route?.revision != used
    }

    /// The time of the last revision of `state` or `workout`.
    var revisedAt: Timestamp { publishedAt.wallClock }
}

/// What the engine keeps of a service's newest `heard`.
struct HeardRevision: Codable, Equatable, Sendable {
    var revision: Int64
    var clockSkew: [Device: Double]
}

/// The stored record of a user.
struct UserRecord: Codable, Equatable, Sendable {
    /// The number of stored replies.
    static let replyLimit = 100

    var profile = Profile()
    /// `profile`.
    var profileTopic = RetainedTopic()
    /// The replies to the latest accepted requests, oldest first.
    var replies: [Reply] = []
    /// The saved plans with the revision of the published `plans`; absent before the first.
    var plans: SavedPlans?
    /// `plans`: memory only, because the payload is stored with its revision.
    var plansTopic = RetainedTopic()
    /// The ended logins with the revision of the published `signed-out`; absent before the first.
    var signedOut: SignedOut?
    /// `signed-out`: memory only, like ``plansTopic``.
    var signedOutTopic = RetainedTopic()
    /// `current`: its revision is the highest of all sessions of the user. Absent before the first.
    var currentTopic: RetainedTopic?
    /// Sessions up to this revision are to be removed; absent when none is.
    var erasing: Int64?
    /// When the user deleted everything, the last time.
    var erasedAt: Timestamp?
    /// The changes of workouts; absent before the first.
    var changes: ChangeLog?

    private enum CodingKeys: String, CodingKey {
        case profile
        case profileTopic = "revision"
        case replies, plans, signedOut, erasing, erasedAt, changes
        case currentTopic = "current"
    }

    mutating func raiseCurrent(to revision: Int64) {
        var topic = currentTopic ?? RetainedTopic()
        topic.raise(to: revision)
        currentTopic = topic
    }

    mutating func reconnected() {
        profileTopic.reconnected()
        plansTopic.reconnected()
        signedOutTopic.reconnected()
        currentTopic?.reconnected()
    }
}

extension SessionRecord {
    /// `user/session` → the record, while the session is in memory.
    static let sessions = StoreCollection("sessions")
    /// `user/session` → the record of a session that is not in memory.
    static let history = StoreCollection("history")
    /// ``overviewKey(_:_:)`` → the `WorkoutOverview` of each finished workout: a page of the history is a range of them.
    static let overviews = StoreCollection("overviews")
    /// ``changeKey(_:_:)`` → the `WorkoutChange` of each finished or deleted workout: its latest one.
    static let changes = StoreCollection("changes")
    /// ``dueKey(_:_:)`` → nothing: when the topics of a session in history are to be cleared.
    static let due = StoreCollection("due")
    /// `user` → the `UserQuota`.
    static let quotas = StoreCollection("quotas")
    /// `user/session/command` → the reply, so that a repeated command is applied once.
    static let replies = StoreCollection("replies")
    /// `user` → the `UserRecord`.
    static let users = StoreCollection("users")
    /// Corrupt records under their own keys.
    static let corrupt = StoreCollection("corrupt")

    static let schema = StoreSchema(
        service: "session-engine",
        steps: [[sessions, history, overviews, due, quotas, replies, users, corrupt], [changes]])

    /// The session of a key in ``corrupt``; `nil` for a record of another kind.
    static func corruptSession(_ key: String) -> SessionKey? {
        let parts = key.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, [sessions.name, history.name].contains(String(parts[0])) else { return nil }
        return SessionKey(String(parts[1]))
    }

    /// In the order of the history: later keys are newer.
    static func overviewKey(_ user: User, _ place: HistoryPlace) -> String {
        "\(user)/\(text(place.at))/\(place.session)"
    }

    /// In the order of the changes.
    static func changeKey(_ user: User, _ changed: Int64) -> String { "\(user)/\(text(changed))" }

    /// The number of a ``changeKey(_:_:)``.
    static func changed(_ key: String) -> Int64? {
        Int64(key.drop { $0 != "/" }.dropFirst(), radix: 16)
    }

    /// The keys sort by time.
    static func dueKey(_ time: Timestamp, _ key: SessionKey) -> String { "\(text(time))/\(key)" }

    /// The session of a ``dueKey(_:_:)``.
    static func dueSession(_ key: String) -> SessionKey? { SessionKey(String(key.drop { $0 != "/" }.dropFirst())) }

    /// 16 hex digits, in the order of the times since 1970.
    static func text(_ time: Timestamp) -> String { text(time.microseconds) }

    private static func text(_ number: Int64) -> String {
        let digits = String(max(0, number), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// The revisions in a ``SessionRecord``: whether a message about it changes nothing. Decoding the rest would take most of
/// the time.
struct StoredRevisions: Decodable {
    struct Summary: Decodable {
        let revision: Int64
        let state: Int64?
        /// Of the samples' totals: the revision of the route.
        let route: Int64?
    }

    let revision: Int64
    let profileRevision: Int64?
    let workout: Summary?
    let report: Summary?
    let route: Summary?
    let weather: Summary?
}
