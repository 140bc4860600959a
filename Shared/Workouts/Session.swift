/// One workout of one person: its status, its active segments and what was said of it.
///
/// A value: commands and times go in, the next state comes out. What it is follows from the times of events alone.
package struct Session: Codable, Equatable, Sendable {
    package enum Status: Codable, Equatable, Sendable {
        /// Counting down. To `active` when the countdown ends, to `canceled` by `discard`.
        case preparing(until: Timestamp)
        /// The clock runs. To `paused`, `saving`, `canceled`.
        case active(since: Timestamp)
        /// The clock stands. To `active`, `saving`, `canceled`.
        case paused
        /// Ended; the summaries are awaited. To `completed`.
        case saving(endedAt: Timestamp)
        /// The finished record is out. Final; later items revise the record.
        case completed(endedAt: Timestamp)
        /// Given up.
        case canceled(CancelReason)
    }

    package enum CancelReason: String, Codable, Sendable {
        case discarded
    }

    /// So that `state` and `workout` stay within the size of a payload.
    package static let lapLimit = 500

    package let key: SessionKey
    package let activity: Activity
    package let environment: Environment
    package let name: String
    package let mode: Mode
    package let units: Units
    package let timeZone: String?
    package private(set) var status: Status
    /// The closed segments, by time.
    package private(set) var closedSegments: [Segment] = []
    /// The moments at which a lap ended and the next began.
    package private(set) var laps: [Timestamp] = []
    /// How many items each stream holds, as devices announced it on `end`.
    package private(set) var streams: [StreamName: Int] = [:]
    /// When the status last changed; no later command counts as earlier.
    private var lastTransition: Timestamp

    /// Begins a session.
    ///
    /// The countdown is waited for only when `at` is within a minute of the clock: a recording is active at once, from
    /// the moment the countdown had ended.
    package init(key: SessionKey, start: SessionStart, at: Timestamp, now: Timestamp) {
        self.key = key
        activity = start.activity
        environment = start.environment ?? start.activity.defaultEnvironment
        name = start.name ?? start.activity.defaultName(environment)
        mode = start.mode ?? .watch
        units = start.units ?? .metric
        timeZone = start.timeZone
        let countdownEnd = start.startAt ?? at + (start.countdown ?? SessionStart.defaultCountdown)
        let isLive = abs(at.seconds(since: now)) <= 60
        status = isLive && countdownEnd > now ? .preparing(until: countdownEnd) : .active(since: countdownEnd)
        lastTransition = countdownEnd
    }

    /// The next moment at which time alone changes something.
    package var deadline: Timestamp? {
        guard case .preparing(let until) = status else { return nil }
        return until
    }

    /// Lets time pass: the countdown ends. Says whether anything changed.
    package mutating func advance(to now: Timestamp) -> Bool {
        guard case .preparing(let until) = status, until <= now else { return false }
        status = .active(since: until)
        return true
    }

    /// Applies a command that happened at `at`; a moment before the last transition counts as that transition's.
    ///
    /// A refusal changes nothing.
    package mutating func apply(_ action: SessionAction, at: Timestamp) throws(Refusal) {
        var next = self
        try next.transition(action, at: at)
        self = next
    }

    private mutating func transition(_ action: SessionAction, at moment: Timestamp) throws(Refusal) {
        _ = advance(to: moment)
        let at = max(moment, lastTransition)
        switch (action, status) {
        case (.pause, .active(let since)):
            close(since, at)
            status = .paused
        case (.resume, .paused):
            status = .active(since: at)
        case (.lap, .active):
            guard laps.count < Self.lapLimit else { throw .invalidState("a session has at most \(Self.lapLimit) laps") }
            laps.append(at)
        case (.end(let announced), .active(let since)):
            close(since, at)
            try add(announced)
            status = .saving(endedAt: at)
        case (.end(let announced), .paused):
            try add(announced)
            status = .saving(endedAt: at)
        case (.end(let announced), .saving), (.end(let announced), .completed):
            // A second device's `end`, or the first one's again.
            try add(announced)
            return
        case (.discard, .preparing), (.discard, .active), (.discard, .paused):
            status = .canceled(.discarded)
        default:
            throw .invalidState("\(action.name) is not possible while the session is \(statusName.rawValue)")
        }
        lastTransition = at
    }

    /// The summaries hold all that was announced, or enough was waited: the record is out.
    package mutating func complete() {
        guard case .saving(let endedAt) = status else { return }
        status = .completed(endedAt: endedAt)
    }

    private mutating func close(_ start: Timestamp, _ end: Timestamp) {
        closedSegments.append(Segment(start: start, end: end))
    }

    private mutating func add(_ announced: [StreamName: Int]) throws(Refusal) {
        streams.merge(announced, uniquingKeysWith: max)
        guard streams.count <= SessionAction.streamLimit else {
            throw .invalidCommand("a session has at most \(SessionAction.streamLimit) streams")
        }
    }
}

extension Session {
    package var statusName: SessionStatus {
        switch status {
        case .preparing: .preparing
        case .active: .active
        case .paused: .paused
        case .saving: .saving
        case .completed: .completed
        case .canceled: .canceled
        }
    }

    /// Whether it is the user's one session that goes on and can be resumed; one being saved is not.
    package var isUnfinished: Bool {
        switch status {
        case .preparing, .active, .paused: true
        case .saving, .completed, .canceled: false
        }
    }

    /// Closed segments and the open one, if the clock runs.
    package var segments: [Segment] {
        guard case .active(let since) = status else { return closedSegments }
        return closedSegments + [Segment(start: since, end: nil)]
    }

    package var startedAt: Timestamp? { segments.first?.start }

    package var endedAt: Timestamp? {
        switch status {
        case .saving(let endedAt), .completed(let endedAt): endedAt
        case .preparing, .active, .paused, .canceled: nil
        }
    }
}
