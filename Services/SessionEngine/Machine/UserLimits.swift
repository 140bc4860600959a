import Bus
import ServiceKit
import Workouts

/// What one user may begin and keep, so that no account takes the memory or disk of the others. `Shared/Bus/README.md`
/// lists the limits for clients.
enum UserLimit: Hashable, CaseIterable {
    case hour, day, past, plans, stored, open, memory
    case commands, edits, requests, viewerRequests

    /// Sessions begun within an hour and within a day of the first.
    static let sessionsAnHour = 50
    static let sessionsADay = 200
    /// Sessions begun in a day that were already over, as when a user uploads an archive.
    static let pastSessionsADay = 5_000
    /// The bytes of the plans of all sessions begun in a day.
    static let planBytesADay = 16 << 20
    /// Sessions in the store, with deleted ones while they are published as deleted.
    static let storedSessions = 20_000
    /// Sessions in memory that can go on: unfinished, or expired and not purged yet.
    static let openSessions = 20
    /// All sessions in memory.
    static let sessionsInMemory = 1_000
    /// Finished and deleted sessions in memory. The oldest others are on disk alone.
    static let restingSessions = 5
    /// Replies in memory, of all the user's sessions.
    static let replies = 10_000
    /// Edits of workouts within an hour of the first: totals are computed again after each.
    static let editsAnHour = 300
    /// Requests for history: burst and rate a second.
    static let requestBurst = 100.0
    static let requestRate = 10.0
    /// Requests of one viewer: burst and rate a second.
    static let viewerBurst = 10.0
    static let viewerRate = 1.0

    /// The label in `pacebus_limited_total`.
    var name: StaticString {
        switch self {
        case .hour: "sessions_hour"
        case .day: "sessions_day"
        case .past: "past_sessions_day"
        case .plans: "plan_bytes_day"
        case .stored: "sessions_stored"
        case .open: "sessions_open"
        case .memory: "sessions_memory"
        case .commands: "commands"
        case .edits: "edits_hour"
        case .requests: "history_requests"
        case .viewerRequests: "viewer_requests"
        }
    }

    /// - Parameter wait: seconds until the same can be accepted.
    func refusal(after wait: Double) -> Refusal {
        let (code, rule) =
            switch self {
            case .hour: ("too_many_sessions", "at most \(Self.sessionsAnHour) sessions an hour")
            case .day: ("too_many_sessions", "at most \(Self.sessionsADay) sessions a day")
            case .past: ("too_many_sessions", "at most \(Self.pastSessionsADay) past sessions a day")
            case .plans: ("too_many_sessions", "at most \(Self.planBytesADay >> 20) MiB of plans a day")
            case .stored:
                (
                    "too_many_sessions",
                    "at most \(Self.storedSessions) stored sessions; deleted ones count for another 90 days"
                )
            case .open:
                ("too_many_sessions", "at most \(Self.openSessions) unfinished or expired sessions; end or recover one")
            case .memory:
                ("too_many_sessions", "at most \(Self.sessionsInMemory) unfinished, canceled or saving sessions")
            case .commands:
                ("too_many_commands", "at most \(Self.replies) commands for unfinished, canceled or saving sessions")
            case .edits: ("too_many_commands", "at most \(Self.editsAnHour) edits of workouts an hour")
            case .requests: ("too_many_requests", "at most \(Int(Self.requestRate)) requests for history a second")
            case .viewerRequests: ("too_many_requests", "at most \(Int(Self.viewerRate)) request of a viewer a second")
            }
        let seconds = wait.rounded(.up)
        return Refusal(code: code, message: "\(rule); try again in \(Int(seconds)) s", retryAfter: seconds)
    }
}

/// Counts within a span of time that begins with its first event.
struct CountingWindow: Codable, Equatable, Sendable {
    private var began: Moment?
    private var count = 0

    /// Seconds until `amount` more fit; `nil` if they fit now.
    func wait(for amount: Int = 1, limit: Int, _ seconds: Double, _ now: Moment) -> Double? {
        guard let began, count + amount > limit else { return nil }
        let wait = seconds - now.seconds(since: began)
        return wait > 0 ? wait : nil
    }

    mutating func add(_ amount: Int = 1, _ seconds: Double, _ now: Moment) {
        if began.map({ now.seconds(since: $0) >= seconds }) ?? true { (began, count) = (now, 0) }
        count += amount
    }

    /// Limits a moment that was stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) {
        began = began?.atMost(now)
    }
}

/// The stored counts of one user.
struct UserQuota: Codable, Equatable, Sendable {
    private static let hourLength = 3_600.0
    private static let dayLength = 86_400.0

    private var hour = CountingWindow()
    private var day = CountingWindow()
    private var past = CountingWindow()
    private var plans = CountingWindow()
    /// Absent before the first edit.
    private var edits: CountingWindow?
    /// Sessions in the store.
    private(set) var stored = 0

    /// The limit that a session would exceed, with the seconds until it does not.
    ///
    /// - Parameter planBytes: asked for only if the session exceeds no other limit.
    func reached(isPast: Bool, planBytes: () -> Int, _ now: Moment) -> (UserLimit, Double)? {
        // Tomorrow, some deleted ones may no longer be published as deleted.
        if stored >= UserLimit.storedSessions { return (.stored, Self.dayLength) }
        let waits: [(UserLimit, Double?)] = [
            (.past, isPast ? past.wait(limit: UserLimit.pastSessionsADay, Self.dayLength, now) : nil),
            (.day, isPast ? nil : day.wait(limit: UserLimit.sessionsADay, Self.dayLength, now)),
            (.hour, isPast ? nil : hour.wait(limit: UserLimit.sessionsAnHour, Self.hourLength, now)),
        ]
        if let longest = waits.compactMap({ limit, wait in wait.map { (limit, $0) } }).max(by: { $0.1 < $1.1 }) {
            return longest
        }
        return plans.wait(for: planBytes(), limit: UserLimit.planBytesADay, Self.dayLength, now).map { (.plans, $0) }
    }

    mutating func begin(isPast: Bool, planBytes: Int, _ now: Moment) {
        if isPast {
            past.add(1, Self.dayLength, now)
        } else {
            hour.add(1, Self.hourLength, now)
            day.add(1, Self.dayLength, now)
        }
        if planBytes > 0 { plans.add(planBytes, Self.dayLength, now) }
        stored += 1
    }

    /// Seconds until another edit is allowed; `nil` if it is now.
    func waitForEdit(_ now: Moment) -> Double? {
        edits?.wait(limit: UserLimit.editsAnHour, Self.hourLength, now)
    }

    mutating func edit(_ now: Moment) {
        var window = edits ?? CountingWindow()
        window.add(1, Self.hourLength, now)
        edits = window
    }

    /// A session left the store.
    mutating func erase() {
        stored = max(0, stored - 1)
    }

    mutating func limit(to now: Moment) {
        hour.limit(to: now)
        day.limit(to: now)
        past.limit(to: now)
        plans.limit(to: now)
        edits?.limit(to: now)
    }
}

extension SessionEngineMachine {
    /// The limit that a command would exceed, with the seconds until it does not. Commands that end a session exceed none.
    func reached(_ command: Command, _ key: SessionKey, _ now: Moment) -> (UserLimit, Double)? {
        switch command.action {
        case .start(let start): return entries[key] == nil ? reached(start, key, now) : nil
        case .deviceReady, .pause, .resume, .lap, .update, .plan:
            let replies = table.sessions(of: key.user).reduce(0) { $0 + (entries[$1]?.replies.count ?? 0) }
            return replies < UserLimit.replies ? nil : (.commands, 3_600)
        case .end, .suspend, .discard, .recover: return nil
        }
    }

    private func reached(_ start: SessionStart, _ key: SessionKey, _ now: Moment) -> (UserLimit, Double)? {
        if let reached = quota(key.user).reached(
            isPast: start.isOver(at: now.wallClock), planBytes: { start.definition.map(planBytes) ?? 0 }, now)
        {
            return reached
        }
        let records = table.sessions(of: key.user).compactMap { entries[$0] }
        let open = records.filter { $0.record.session.canContinue }
        if open.count >= UserLimit.openSessions {
            let leaves = open.filter { !$0.record.session.isUnfinished }.map(\.record.publishedAt).min()
            return (.open, leaves.map { max(60, RetainedTopic.lifetime - now.seconds(since: $0)) } ?? 3_600)
        }
        return records.count >= UserLimit.sessionsInMemory ? (.memory, 60) : nil
    }

    /// Counts an accepted start.
    mutating func count(_ start: SessionStart, _ user: User, _ now: Moment) -> SessionEngineAction {
        quotas[user, default: UserQuota()].begin(
            isPast: start.isOver(at: now.wallClock), planBytes: start.definition.map(planBytes) ?? 0, now)
        return .saveQuota(user)
    }

    private func quota(_ user: User) -> UserQuota { quotas[user] ?? UserQuota() }

    private func planBytes(_ definition: WorkoutDefinition) -> Int { JSONCoding.encode(definition).count }
}

extension Session {
    /// Whether a command or items can bring the session back into progress.
    fileprivate var canContinue: Bool {
        if case .canceled(.expired, _) = status { return true }
        return isUnfinished
    }
}
