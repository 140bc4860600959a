/// One workout of one person: its status, its active segments, its plan and what was said of it.
///
/// A value: commands and times go in, the next state comes out. What it is follows from the times of events alone; what
/// it waits for goes by the service's clock.
package struct Session: Codable, Equatable, Sendable {
    package enum Status: Codable, Equatable, Sendable {
        /// Goes on: to another unfinished state, to `saving` by `end`, to `canceled`.
        case unfinished(Unfinished)
        /// Ended; the summaries are awaited. To `completed`.
        case saving(endedAt: Timestamp)
        /// The finished record is out. Final; later items revise the record.
        case completed(endedAt: Timestamp)
        /// Given up. To what it was when it is heard of again, to `saving` by `recover`, to `deleted`.
        case canceled(CancelReason, was: Unfinished)
        /// Gone with all its data; only that it was remains, and why it had been given up if it had.
        case deleted(CancelReason?)
    }

    package enum Unfinished: Codable, Equatable, Sendable {
        /// Counting down. To `active` when the countdown ends.
        case preparing(until: Timestamp)
        /// The clock runs. To `paused`, `suspended`.
        case active(since: Timestamp)
        /// The clock stands. To `active`, `suspended`.
        case paused
        /// Left, with the clock standing. To `active`.
        case suspended
    }

    package enum CancelReason: String, Codable, Sendable {
        /// The user gave it up.
        case discarded
        /// Nothing was heard of it for hours.
        case expired
    }

    /// So that `state` and `workout` stay within the size of a payload.
    package static let lapLimit = 400
    package static let segmentLimit = 1_000
    /// The same of a session whose plan takes its room.
    package static let plannedLapLimit = 100
    package static let plannedSegmentLimit = 300
    package static let plannedSplitLimit = 300
    /// How long after it was last heard of an unfinished session is given up, in seconds of the service's clock.
    package static let expiry = 6 * 3_600.0
    /// How long watch mode waits for a watch, in seconds of the service's clock.
    package static let watchPatience = 10.0

    package let key: SessionKey
    /// Whether its `start` was close to the service's clock; a recording's is not.
    package let isLive: Bool
    package let activity: Activity
    package let environment: Environment
    package internal(set) var name: String
    package let units: Units
    package internal(set) var timeZone: String?
    package internal(set) var profile: Profile?
    package internal(set) var permissions: Permissions?
    package internal(set) var place: Place?
    /// The virtual run that it is part of.
    package internal(set) var run: RunID?
    /// The session that this one stands in for.
    package internal(set) var notSynced: SessionID?
    /// When it was over already as it was begun: a session recorded without a connection.
    package let endAt: Timestamp?
    package internal(set) var mode: Mode
    package internal(set) var banner: Banner?
    /// Until when a watch may report ready; `nil` when none is awaited.
    package internal(set) var watchAwaitedUntil: Timestamp?
    /// Whether any device has delivered an item.
    package internal(set) var hasItems = false
    package internal(set) var status: Status
    /// The closed segments, by time.
    package internal(set) var closedSegments: [Segment] = []
    /// The moments at which a lap ended and the next began.
    package internal(set) var laps: [Timestamp] = []
    /// How many items each stream holds, as devices announced it on `end`.
    package internal(set) var streams: [StreamName: Int] = [:]
    /// What is to be done, and how far it has come.
    package internal(set) var planned: PlannedWorkout?
    /// When the status last changed; no later command counts as earlier.
    var lastTransition: Timestamp

    /// Begins a session.
    ///
    /// The countdown and the watch are waited for only when `at` is within a minute of the clock: a recording is active
    /// at once, from the moment the countdown had ended.
    package init(key: SessionKey, start: SessionStart, profile: Profile? = nil, at: Timestamp, now: Timestamp) {
        self.key = key
        activity = start.activity
        environment = start.environment ?? start.activity.defaultEnvironment
        name = start.name ?? start.definition?.name ?? start.activity.defaultName(environment)
        units = start.units ?? profile?.units ?? .metric
        timeZone = start.timeZone ?? profile?.timeZone
        self.profile = profile
        permissions = start.permissions
        place = start.place
        run = start.run
        notSynced = start.notSynced
        endAt = start.endAt
        let countdownEnd = start.startAt ?? at + (start.countdown ?? SessionStart.defaultCountdown)
        isLive = abs(at.seconds(since: now)) <= 60
        mode = start.mode ?? .phone
        status = .unfinished(
            isLive && countdownEnd > now ? .preparing(until: countdownEnd) : .active(since: countdownEnd))
        lastTransition = countdownEnd
        planned = start.definition.map { PlannedWorkout(SessionPlan($0), start: countdownEnd) }
        guard isLive, mode == .watch else { return }
        if start.permissions?.isEnoughForWatch ?? true {
            watchAwaitedUntil = now + Self.watchPatience
        } else {
            fallBackToPhone()
        }
    }

    /// The next moment of the service's clock at which time alone changes something.
    package var deadline: Timestamp? {
        guard case .unfinished(let unfinished) = status else { return nil }
        guard case .preparing(let until) = unfinished else { return watchAwaitedUntil }
        return min(until, watchAwaitedUntil ?? until)
    }

    /// Lets the service's clock pass: the countdown ends, the patience for a watch ends. Says whether anything changed.
    package mutating func advance(to now: Timestamp) -> Bool {
        guard case .unfinished = status else { return false }
        let before = self
        endCountdown(by: now)
        if let until = watchAwaitedUntil, until <= now { fallBackToPhone() }
        return self != before
    }

    mutating func endCountdown(by moment: Timestamp) {
        guard case .unfinished(.preparing(let until)) = status, until <= moment else { return }
        status = .unfinished(.active(since: until))
    }

    mutating func fallBackToPhone() {
        watchAwaitedUntil = nil
        mode = .phone
        banner = hasItems ? nil : .liveMetricsUnavailable
    }
}

extension Session {
    package var statusName: SessionStatus {
        switch status {
        case .unfinished(.preparing): .preparing
        case .unfinished(.active): .active
        case .unfinished(.paused): .paused
        case .unfinished(.suspended): .suspended
        case .saving: .saving
        case .completed: .completed
        case .canceled: .canceled
        case .deleted: .deleted
        }
    }

    /// Whether it goes on and can be resumed; one being saved does not.
    package var isUnfinished: Bool {
        guard case .unfinished = status else { return false }
        return true
    }

    /// Closed segments and the open one: while the clock runs, and of a session that was given up while it ran.
    package var segments: [Segment] {
        guard let since = openSince else { return closedSegments }
        return closedSegments + [Segment(start: since, end: nil)]
    }

    var openSince: Timestamp? {
        switch status {
        case .unfinished(.active(let since)), .canceled(_, was: .active(let since)): since
        case .unfinished, .canceled, .saving, .completed, .deleted: nil
        }
    }

    package var startedAt: Timestamp? { segments.first?.start }

    /// Whether it lies in the same time as another session; one that goes on lies in all time to come.
    package func overlaps(from start: Timestamp, to end: Timestamp?) -> Bool {
        let begin = startedAt ?? lastTransition
        return (endAt.map { $0 > start } ?? true) && (end.map { $0 > begin } ?? true)
    }

    package var endedAt: Timestamp? {
        switch status {
        case .saving(let endedAt), .completed(let endedAt): endedAt
        case .unfinished, .canceled, .deleted: nil
        }
    }
}
