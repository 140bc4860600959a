/// A client's action on a session.
package enum SessionAction: Equatable, Sendable {
    case start(SessionStart)
    /// A watch takes over the measurements.
    case deviceReady(Device)
    case pause
    case resume
    case lap
    /// The user leaves the workout for now, and the clock stops.
    case suspend
    /// Ends the session and announces the number of items of each of a device's streams.
    case end(streams: [StreamName: Int])
    case discard
    /// Saves a canceled session.
    case recover
    /// Changes what a person sees of the session.
    case update(SessionUpdate)
    /// Changes the plan or its progress.
    case plan(PlanAction)

    package static let streamLimit = 64

    package var name: String { kind.rawValue }

    package var kind: Kind {
        switch self {
        case .start: .start
        case .deviceReady: .deviceReady
        case .pause: .pause
        case .resume: .resume
        case .lap: .lap
        case .suspend: .suspend
        case .end: .end
        case .discard: .discard
        case .recover: .recover
        case .update: .update
        case .plan(let action): action.kind
        }
    }
}

/// The parameters of a new session.
package struct SessionStart: Equatable, Sendable {
    /// The default countdown in seconds.
    package static let defaultCountdown = 3.0
    /// Metres.
    package static let poolLengths = 5.0...200
    /// What names are, for people.
    package static let nameRule = "1 to 200 bytes without control characters"
    package static func isName(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count) && !text.hasControlCharacters
    }

    package var activity: Activity
    package var environment: Environment?
    package var name: String?
    package var mode: Mode?
    /// Seconds from `at` until the session is active.
    package var countdown: Double?
    /// The end of the countdown; overrides `countdown`.
    package var startAt: Timestamp?
    package var units: Units?
    /// The end of a session that was recorded without a connection.
    package var endAt: Timestamp?
    /// An IANA time zone.
    package var timeZone: String?
    package var permissions: Permissions?
    /// The location before the first position.
    package var place: Place?
    /// The length of the pool in metres.
    package var poolLength: Double?
    /// Discards the user's unfinished session.
    package var replace = false
    /// The virtual run of this session.
    package var run: RunID?
    /// The session that this one replaces because the server could not finish it.
    package var notSynced: SessionID?
    /// The planned workout.
    package var definition: WorkoutDefinition?

    /// Whether the session was over at this moment, as those of an archive are.
    package func isOver(at moment: Timestamp) -> Bool { endAt.map { $0 <= moment } ?? false }

    package init(
        activity: Activity, environment: Environment? = nil, name: String? = nil, mode: Mode? = nil,
        countdown: Double? = nil, startAt: Timestamp? = nil, units: Units? = nil, timeZone: String? = nil
    ) {
        self.activity = activity
        self.environment = environment
        self.name = name
        self.mode = mode
        self.countdown = countdown
        self.startAt = startAt
        self.units = units
        self.timeZone = timeZone
    }
}

/// The changes of an `update`. Absent fields stay as they are.
package struct SessionUpdate: Equatable, Sendable {
    package var units: Units?
    /// An IANA time zone.
    package var timeZone: String?

    package init(units: Units? = nil, timeZone: String? = nil) {
        self.units = units
        self.timeZone = timeZone
    }
}

/// The permissions that the user granted on the device.
package struct Permissions: Codable, Hashable, Sendable {
    /// Reading heart rate.
    package var heartRate: Bool
    /// Writing workouts.
    package var workouts: Bool

    package init(heartRate: Bool, workouts: Bool) {
        self.heartRate = heartRate
        self.workouts = workouts
    }

    /// Watch mode requires both.
    var isEnoughForWatch: Bool { heartRate && workouts }
}

/// A position in degrees (WGS 84).
package struct Place: Codable, Hashable, Sendable {
    package var la: Double
    package var lo: Double

    package init(la: Double, lo: Double) {
        self.la = la
        self.lo = lo
    }

    package var isOnEarth: Bool { -90...90 ~= la && -180...180 ~= lo }
}

/// A notice to display with a session.
package enum Banner: String, Codable, Sendable {
    /// No watch and no heart rate: the phone continues alone.
    case liveMetricsUnavailable
}

/// The refusal of a command or request. A refused command changes nothing.
package struct Refusal: Error, Codable, Hashable, Sendable {
    package let code: String
    package let message: String
    /// Seconds until the same command or request can be accepted; `nil` if time alone does not change the refusal.
    package let retryAfter: Double?

    package init(code: String, message: String, retryAfter: Double? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    /// The session's status does not allow the action.
    package static func invalidState(_ message: String) -> Refusal { Refusal(code: "invalid_state", message: message) }
    /// A field is missing or out of range.
    package static func invalidCommand(_ message: String) -> Refusal {
        Refusal(code: "invalid_command", message: message)
    }
    /// The user has no session with this id.
    package static let sessionNotFound = Refusal(
        code: "session_not_found", message: "session not found; a start command begins one")
    /// Another session of the user is unfinished.
    package static func sessionInProgress(_ session: SessionID) -> Refusal {
        Refusal(
            code: "session_in_progress", message: "session \(session) is unfinished; end or discard it first")
    }
}
