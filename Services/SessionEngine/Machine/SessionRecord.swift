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
    /// How many samples it was last known to have.
    var itemCount = 0
    /// How many locations it was last known to have.
    var locationCount: Int?
    /// The time of the newest item.
    var newest: Timestamp?
    /// The newest totals of the samples that were heard of.
    var report: MetricsReport?
    /// The newest totals of the locations.
    var route: RouteReport?
    /// The last value that was heard.
    var weather: Weather?
    /// The finished record as it was last published.
    var workout: WorkoutRecord?
    /// When `state` or `workout` was last revised, by the service's clock; absent in records of earlier versions.
    var publishedAt: Timestamp?
    /// The phase of the plan's clock that was announced last.
    var announced: PlanCue.Phase?

    var state: SessionState { session.state(revision: revision, lastActiveAt: lastActiveAt) }

    /// The plan as it stood when the state was revised.
    var planState: PlanState? { session.planState(revisedAt) }

    /// When the next phase of the plan's clock is to be announced.
    var cueDue: Timestamp? {
        guard let cue = session.planCue(revisedAt) else { return nil }
        return cue.phase == announced ? session.phaseEnd(after: revisedAt) : revisedAt
    }

    /// Whether all samples that were announced are in their totals.
    var hasSamples: Bool { session.isCovered(.samples, by: report, endRevision: endRevision) }

    /// Whether all that was announced is in the totals.
    var isComplete: Bool {
        guard session.announces(.locations) else { return hasSamples }
        return hasSamples && session.isCovered(.locations, by: route, endRevision: endRevision)
    }

    /// Whether the finished record does not tell of all that was announced.
    var isShort: Bool {
        workout.map { $0.incomplete == true || !session.holdsAnnounced($0.next) } ?? true
    }

    /// Whether more has come than the finished record tells.
    var isRevised: Bool {
        guard let workout else { return false }
        return report?.revision != workout.summaries["metrics"] || isRouteRevised(workout)
            || weather != workout.weather
    }

    private func isRouteRevised(_ workout: WorkoutRecord) -> Bool {
        guard let told = workout.summaries["route"] else {
            // A session without locations has a summary that tells of none.
            return route?.next.values.contains { $0 > 0 } ?? false
        }
        return route?.revision != told
    }

    /// When `state` or `workout` was last revised.
    var revisedAt: Timestamp {
        publishedAt ?? Timestamp(microseconds: max(revision, workout?.revision ?? 0) * 1_000)
    }
}

/// What the engine keeps of a user.
struct UserRecord: Codable, Equatable, Sendable {
    /// So many accepted requests are remembered.
    static let replyLimit = 100

    var profile = Profile()
    /// `profile`.
    var profileTopic = RetainedTopic()
    /// The replies to the latest accepted requests, oldest first.
    var replies: [Reply] = []
    /// Planned workouts that the user keeps, with the revision of the published `plans`; absent before the first.
    var plans: SavedPlans?
    /// `plans`: memory only, because the payload is stored with its revision.
    var plansTopic = RetainedTopic()
    /// `current`: its revision is the highest of all sessions of the user. Absent before the first.
    var currentTopic: RetainedTopic?

    private enum CodingKeys: String, CodingKey {
        case profile
        case profileTopic = "revision"
        case replies, plans
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
        currentTopic?.reconnected()
    }
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

/// What a line of the history takes out of a ``SessionRecord``, whose routes would be most of the work to read.
struct ArchivedWorkout: Decodable {
    /// `nil` of a session that was never finished.
    let workout: WorkoutOverview?
}

/// Collects a page of a user's history, newest first, from workouts that come in any order: of them it holds no more than
/// the page does, and one.
struct HistoryPage {
    private let page: UserRequest.Page
    private(set) var newest: [WorkoutOverview] = []

    init(_ page: UserRequest.Page) {
        self.page = page
    }

    mutating func take(_ overview: WorkoutOverview) {
        if let before = page.before, overview.place >= before { return }
        let index = newest.firstIndex { $0.place < overview.place } ?? newest.endIndex
        newest.insert(overview, at: index)
        // One more than the page tells that there is another page.
        if newest.count > page.limit + 1 { newest.removeLast() }
    }

    func reply(_ now: Timestamp) -> Reply {
        var reply = Reply(id: page.envelope.id, revision: nil, now: now)
        reply.workouts = Array(newest.prefix(page.limit))
        if newest.count > page.limit { reply.next = reply.workouts?.last?.place }
        return reply
    }
}
