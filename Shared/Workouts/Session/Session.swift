/// One workout of one person: status, active segments and plan.
///
/// A value that takes commands with their times and moves to the next state. Its content depends on event times alone;
/// its deadlines use the service's clock.
package struct Session: Codable, Equatable, Sendable {
    package enum Status: Codable, Equatable, Sendable {
        /// In progress. Exits: another unfinished state, `saving` by `end`, `canceled`.
        case unfinished(Unfinished)
        /// Ended, summaries pending. Exit: `completed`.
        case saving(endedAt: Timestamp)
        /// The finished record is published. Later items revise the record. Exit: `deleted`.
        case completed(endedAt: Timestamp)
        /// Discarded or expired. Exits: the former status when an event arrives, `saving` by `recover`, `deleted`.
        case canceled(CancelReason, was: Unfinished)
        /// All data is removed. The reason of an earlier cancellation remains. No exit.
        case deleted(CancelReason?)
    }

    package enum Unfinished: Codable, Equatable, Sendable {
        /// Counting down. Exit: `active` when the countdown ends.
        case preparing(until: Timestamp)
        /// The clock runs. Exits: `paused`, `suspended`.
        case active(since: Timestamp)
        /// The clock is stopped. Exits: `active`, `suspended`.
        case paused
        /// The user left, and the clock is stopped. Exit: `active`.
        case suspended
    }

    package enum CancelReason: String, Codable, Sendable {
        /// The user discarded the session.
        case discarded
        /// No event arrived for ``expiry``.
        case expired
    }

    /// Limits that keep `state` and `workout` within the size of a payload.
    package static let lapLimit = 400
    package static let segmentLimit = 1_000
    /// Lower limits for a session with a plan, because the plan takes space too.
    package static let plannedLapLimit = 100
    package static let plannedSegmentLimit = 300
    /// Bytes of all splits and laps of such a session in `workout`.
    package static let plannedSplitBytes = 40_000
    /// An unfinished session expires this many seconds of the service's clock after its last event.
    package static let expiry = 6 * 3_600.0
    /// Seconds between the times of live events and the service's clock, at most.
    private static let liveTolerance = 60.0
    /// Seconds of the service's clock until watch mode falls back to phone mode.
    package static let watchTimeout = 10.0

    package let key: SessionKey
    /// Whether the time of `start` was close to the service's clock. A recording is not live.
    package let isLive: Bool
    /// Set if the session was over when it arrived: its `start` named an `endAt` in the past, or the `end` of a recording
    /// came more than a minute after its time.
    package private(set) var isPast: Bool?
    package internal(set) var activity: Activity
    package internal(set) var environment: Environment
    package internal(set) var name: String
    package internal(set) var units: Units
    package internal(set) var timeZone: String?
    package internal(set) var profile: Profile?
    package internal(set) var permissions: Permissions?
    package internal(set) var place: Place?
    /// The length of the pool in metres.
    package internal(set) var poolLength: Double?
    /// The virtual run of this session.
    package internal(set) var run: RunID?
    /// The session that this one replaces.
    package internal(set) var notSynced: SessionID?
    /// The end of a session that was recorded without a connection, known from its start.
    package let endAt: Timestamp?
    package internal(set) var mode: Mode
    /// The deadline for a watch's `deviceReady`; `nil` if no watch is expected.
    package internal(set) var watchAwaitedUntil: Timestamp?
    /// Whether any device has delivered an item.
    package internal(set) var hasItems = false
    /// Whether a watch, or a heart rate of any device, was received; absent before.
    private(set) var hasLiveMetrics: Bool?
    package internal(set) var status: Status
    /// The closed segments as commands began and ended them, sorted by time.
    var closedSegments: [Segment] = []
    /// The times of commands and items; `nil` once the session is deleted.
    var presence: SessionUse?
    /// Set once a session without an `end` is saved: its last segment ends with its last item.
    var openEnd: OpenEnd?
    /// The ends of laps; each begins the next lap.
    package internal(set) var laps: [Timestamp] = []
    /// The number of items of each stream, as devices announced them with `end`.
    package internal(set) var streams: [StreamName: Int] = [:]
    /// The plan and its progress.
    package internal(set) var planned: PlannedWorkout?
    /// What the user changed of the finished workout, and what it was before; absent without an edit.
    package internal(set) var edit: WorkoutEdit?
    var original: RecordedWorkout?
    /// The latest time in the progress of a plan that was discarded with the session.
    var plannedUntil: Timestamp?
    /// The time of the last pause, resume, suspend or end; a later command cannot take effect before it.
    var lastTransition: Timestamp

    /// Begins a session.
    ///
    /// Countdown and watch timeout apply only if `at` is within a minute of the clock. A recording is active at once,
    /// from the end of its countdown.
    package init(key: SessionKey, start: SessionStart, profile: Profile? = nil, at: Timestamp, now: Timestamp) {
        self.key = key
        activity = start.activity
        environment =
            start.environment ?? start.definition?.environment
            ?? (start.poolLength == nil ? start.activity.defaultEnvironment : .indoor)
        name = start.name ?? start.definition?.name ?? start.activity.defaultName(environment)
        units = start.units ?? profile?.units ?? .metric
        timeZone = start.timeZone ?? profile?.timeZone
        self.profile = profile
        permissions = start.permissions
        place = start.place
        poolLength = start.poolLength
        run = start.run
        notSynced = start.notSynced
        endAt = start.endAt
        let countdownEnd = start.startAt ?? at + (start.countdown ?? SessionStart.defaultCountdown)
        isPast = start.isOver(at: now) ? true : nil
        isLive = abs(at.seconds(since: now)) <= Self.liveTolerance && isPast == nil
        mode = start.mode ?? .phone
        status = .unfinished(
            isLive && countdownEnd > now ? .preparing(until: countdownEnd) : .active(since: countdownEnd))
        lastTransition = countdownEnd
        presence = SessionUse(at)
        planned = start.definition.map { PlannedWorkout(SessionPlan($0), start: countdownEnd) }
        guard isLive, mode == .watch else { return }
        if allowsWatch { watchAwaitedUntil = now + Self.watchTimeout } else { mode = .phone }
    }

    /// The next moment of the service's clock at which time alone changes the session.
    package var deadline: Timestamp? {
        guard case .unfinished(let unfinished) = status else { return nil }
        guard case .preparing(let until) = unfinished else { return watchAwaitedUntil }
        return min(until, watchAwaitedUntil ?? until)
    }

    /// Applies the service's clock: ends the countdown and the watch timeout. Returns whether anything changed.
    package mutating func advance(to now: Timestamp) -> Bool {
        guard case .unfinished = status else { return false }
        let before = self
        endCountdown(by: now)
        if let until = watchAwaitedUntil, until <= now {
            watchAwaitedUntil = nil
            mode = .phone
        }
        return self != before
    }

    mutating func endCountdown(by moment: Timestamp) {
        guard case .unfinished(.preparing(let until)) = status, until <= moment else { return }
        status = .unfinished(.active(since: until))
    }

    /// Whether the user granted what watch mode needs, as far as known.
    var allowsWatch: Bool { permissions?.isEnoughForWatch ?? true }

    /// A recording has no banner: its metrics are not live.
    package var banner: Banner? {
        isLive && isUnfinished && mode == .phone && hasLiveMetrics != true ? .liveMetricsUnavailable : nil
    }

    /// An item of a watch, or a heart rate of any device: live metrics are available.
    package mutating func receiveLiveMetrics() {
        hasLiveMetrics = true
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

    /// Whether the session is in progress and can be resumed. A session in `saving` cannot.
    package var isUnfinished: Bool {
        guard case .unfinished = status else { return false }
        return true
    }

    /// The active segments: the recorded ones, within the trims of an edited workout.
    package var segments: [Segment] {
        trimmedSegments(by: edit) ?? recordedSegments
    }

    /// The closed segments, and the open one while the clock runs, without the silences in them. A session canceled
    /// while its clock ran keeps it open.
    var recordedSegments: [Segment] {
        var segments = closedSegments
        if let since = openSince { segments.append(Segment(start: since, end: nil)) }
        return presence?.withoutSilences(segments, limit: segmentLimit) ?? segments
    }

    var lapLimit: Int { planned == nil ? Self.lapLimit : Self.plannedLapLimit }

    /// The maximum number of segments, besides the last one.
    var segmentLimit: Int { planned == nil ? Self.segmentLimit : Self.plannedSegmentLimit }

    var openSince: Timestamp? {
        switch status {
        case .unfinished(.active(let since)), .canceled(_, was: .active(let since)): since
        case .unfinished, .canceled, .saving, .completed, .deleted: nil
        }
    }

    package var startedAt: Timestamp? { trimmedSegments(by: edit)?.first?.start ?? recordedStart }

    var recordedStart: Timestamp? { closedSegments.first?.start ?? openSince }

    /// The laps that end within the trims.
    package var segmentLaps: [Timestamp] {
        guard trimmedSegments(by: edit) != nil, let start = startedAt, let end = endedAt else { return laps }
        return laps.filter { start < $0 && $0 < end }
    }

    /// Whether the session became active after a moment; one in its countdown is not active.
    package func began(after moment: Timestamp) -> Bool {
        statusName != .preparing && startedAt ?? lastTransition > moment
    }

    /// Whether the session overlaps a span of time. An unfinished session has no end.
    package func overlaps(from start: Timestamp, to end: Timestamp?) -> Bool {
        let begin = startedAt ?? lastTransition
        return (endAt.map { $0 > start } ?? true) && (end.map { $0 > begin } ?? true)
    }

    /// Records when the `end` of an unfinished session arrived.
    package mutating func receiveEnd(now: Timestamp) {
        guard !isLive, let endedAt, now.seconds(since: endedAt) > Self.liveTolerance else { return }
        isPast = true
    }

    package var endedAt: Timestamp? {
        guard let end = recordedEnd, let trim = edit?.trimEnd, trimmedSegments(by: edit) != nil else {
            return recordedEnd
        }
        return min(end, trim)
    }

    var recordedEnd: Timestamp? {
        switch status {
        case .saving(let endedAt), .completed(let endedAt): endedAt
        case .unfinished, .canceled, .deleted: nil
        }
    }
}
