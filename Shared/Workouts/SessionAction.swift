/// What a client asks of a session.
package enum SessionAction: Equatable, Sendable {
    case start(SessionStart)
    case pause
    case resume
    case lap
    /// Ends the session and announces how many items each stream of a device holds.
    case end(streams: [StreamName: Int])
    case discard

    package static let streamLimit = 64

    package var name: String {
        switch self {
        case .start: "start"
        case .pause: "pause"
        case .resume: "resume"
        case .lap: "lap"
        case .end: "end"
        case .discard: "discard"
        }
    }
}

/// How a session begins.
package struct SessionStart: Equatable, Sendable {
    /// Seconds counted down unless asked otherwise.
    package static let defaultCountdown = 3.0

    package var activity: Activity
    package var environment: Environment?
    package var name: String?
    package var mode: Mode?
    /// Seconds from `at` until the session is active.
    package var countdown: Double?
    /// When the countdown ends; wins over `countdown`.
    package var startAt: Timestamp?
    package var units: Units?
    /// An IANA time zone.
    package var timeZone: String?

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

/// Why a command or request was not carried out; nothing has changed.
package struct Refusal: Error, Codable, Hashable, Sendable {
    package let code: String
    package let message: String

    package init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    /// The session's status does not allow it.
    package static func invalidState(_ message: String) -> Refusal { Refusal(code: "invalid_state", message: message) }
    /// A field is missing or out of range.
    package static func invalidCommand(_ message: String) -> Refusal {
        Refusal(code: "invalid_command", message: message)
    }
    /// The user has no such session.
    package static let sessionNotFound = Refusal(
        code: "session_not_found", message: "there is no such session; a start begins one")
    /// Another session of the user is unfinished.
    package static func sessionInProgress(_ session: SessionID) -> Refusal {
        Refusal(
            code: "session_in_progress", message: "session \(session) is unfinished; end or discard it first")
    }
}
