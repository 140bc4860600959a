/// The statuses of a session as they stand on the bus; having no session is `idle`.
package enum SessionStatus: String, Codable, CaseIterable, Sendable {
    case preparing, active, paused, suspended, saving, completed, canceled, deleted
}

/// What the session engine publishes of a session, and what every other service goes by.
package struct SessionState: Codable, Equatable, Sendable {
    package var session: SessionID
    package var user: User
    package var revision: Int64
    package var status: SessionStatus
    package var activity: Activity
    package var environment: Environment
    package var name: String
    package var symbol: String
    package var healthKitActivityType: Int
    package var mode: Mode
    package var startedAt: Timestamp?
    package var endedAt: Timestamp?
    /// Why the session is over: `ended`, or the reason it was canceled for.
    package var endReason: String?
    package var countdownEndsAt: Timestamp?
    package var segments: [Segment]
    package var laps: [Timestamp]
    package var units: Units
    package var timeZone: String?
    /// The user's profile as it was when the session began.
    package var profile: Profile?
    /// Announced counts of items.
    package var streams: [StreamName: Int]

    package var key: SessionKey { SessionKey(user, session) }
}

extension Session {
    /// What is published of the session under a revision.
    package func state(revision: Int64) -> SessionState {
        var endReason: String?
        var countdownEndsAt: Timestamp?
        switch status {
        case .saving, .completed: endReason = "ended"
        case .canceled(let reason): endReason = reason.rawValue
        case .preparing(let until): countdownEndsAt = until
        case .active, .paused: break
        }
        return SessionState(
            session: key.session, user: key.user, revision: revision, status: statusName, activity: activity,
            environment: environment, name: name, symbol: activity.symbol(environment),
            healthKitActivityType: activity.healthKitActivityType, mode: mode, startedAt: startedAt, endedAt: endedAt,
            endReason: endReason, countdownEndsAt: countdownEndsAt, segments: segments, laps: laps, units: units,
            timeZone: timeZone, profile: nil, streams: streams)
    }
}
