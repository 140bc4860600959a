import Bus
import ServiceKit
import Storage
import Workouts

/// The stored record of a session: JSON on disk, and in memory while the session can still change.
struct SessionRecord: Codable, Equatable, Sendable {
    var session: Session
    /// The revision of the published `state`.
    var revision: Int64
    /// The revision of the latest `end`. Summaries of older revisions are outdated.
    var endRevision: Int64 = 0
    /// The published time of the last event.
    var lastActiveAt: Moment
    /// The last known number of samples.
    var itemCount = 0
    /// The last known number of locations.
    var locationCount: Int?
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
    /// The time of the last revision of `state` or `workout` by the service's clock; absent in records of earlier
    /// versions.
    var publishedAt: Moment?
    /// The last announced phase of the plan's clock.
    var announced: PlanCue.Phase?

    var state: SessionState { session.state(revision: revision, lastActiveAt: lastActiveAt.wallClock) }

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
        publishedAt = (publishedAt ?? now.when(revisedAt)).atMost(now)
    }

    /// Whether the totals contain all announced samples.
    var hasSamples: Bool { session.isCovered(.samples, by: report, endRevision: endRevision) }

    /// Whether the totals contain all announced items.
    var isComplete: Bool {
        guard session.announces(.locations) else { return hasSamples }
        return hasSamples && session.isCovered(.locations, by: route, endRevision: endRevision)
    }

    /// Whether the finished record lacks announced items.
    var isShort: Bool {
        workout.map { $0.incomplete == true || !session.holdsAnnounced($0.next) } ?? true
    }

    /// Whether the totals are newer than the finished record.
    var isRevised: Bool {
        guard let workout else { return false }
        return report?.revision != workout.summaries["metrics"] || isRouteRevised(workout)
            || weather != workout.weather
    }

    private func isRouteRevised(_ workout: WorkoutRecord) -> Bool {
        guard let used = workout.summaries["route"] else {
            // A session without locations has an empty summary.
            return route?.next.values.contains { $0 > 0 } ?? false
        }
        return route?.revision != used
    }

    /// The time of the last revision of `state` or `workout`.
    var revisedAt: Timestamp {
        publishedAt?.wallClock ?? Timestamp(microseconds: max(revision, workout?.revision ?? 0) * 1_000)
    }
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
    /// `user/session` → the record, while its topics are retained.
    static let sessions = StoreCollection("sessions")
    /// `user/session` → the record, after its topics are cleared.
    static let history = StoreCollection("history")
    /// `user/session/command` → the reply, so that a repeated command is applied once.
    static let replies = StoreCollection("replies")
    /// `user` → the `UserRecord`.
    static let users = StoreCollection("users")
    /// Corrupt records under their own keys.
    static let corrupt = StoreCollection("corrupt")

    static let schema = StoreSchema(service: "session-engine", steps: [[sessions, history, replies, users, corrupt]])
}

/// The part of a ``SessionRecord`` in the history. Decoding the routes would take most of the time.
struct ArchivedWorkout: Decodable {
    /// `nil` if the session has no finished record.
    let workout: WorkoutOverview?
}

/// Collects a page of a user's history, newest first, from workouts in any order. It keeps at most one workout more
/// than the page.
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
        // One workout beyond the page proves that there is another page.
        if newest.count > page.limit + 1 { newest.removeLast() }
    }

    func reply(_ now: Moment) -> Reply {
        var reply = Reply(id: page.envelope.id, revision: nil, now: now.wallClock)
        reply.workouts = Array(newest.prefix(page.limit))
        if newest.count > page.limit { reply.next = reply.workouts?.last?.place }
        return reply
    }
}
