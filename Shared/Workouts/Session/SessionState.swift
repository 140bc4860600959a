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
    /// Whether its `start` was close to the engine's clock; absent of a recording.
    package var isLive: Bool?
    package var activity: Activity
    package var environment: Environment
    package var name: String
    package var symbol: String
    package var healthKitActivityType: Int
    package var mode: Mode
    package var banner: Banner?
    package var startedAt: Timestamp?
    package var endedAt: Timestamp?
    /// Why the session is over: `ended`, or the reason it was canceled for, of a deleted one too when it was purged.
    package var endReason: String?
    package var countdownEndsAt: Timestamp?
    package var segments: [Segment]
    package var laps: [Timestamp]
    package var units: Units
    package var timeZone: String?
    /// The user's profile as it was when the session began.
    package var profile: Profile?
    package var permissions: Permissions?
    package var place: Place?
    /// The virtual run that it is part of.
    package var run: RunID?
    /// When the engine last heard of an unfinished session, by its own clock.
    package var lastActiveAt: Timestamp?
    /// When an unfinished session will be given up unless something is heard of it.
    package var expiresAt: Timestamp?
    /// Announced counts of items.
    package var streams: [StreamName: Int]

    package var key: SessionKey { SessionKey(user, session) }
}

extension Session {
    /// What is published of the session under a revision.
    ///
    /// - Parameter lastActiveAt: when something was last heard of it.
    package func state(revision: Int64, lastActiveAt: Timestamp? = nil) -> SessionState {
        var endReason: String?
        var countdownEndsAt: Timestamp?
        switch status {
        case .saving, .completed: endReason = "ended"
        case .canceled(let reason, _): endReason = reason.rawValue
        case .unfinished(.preparing(let until)): countdownEndsAt = until
        case .deleted(let reason): endReason = reason?.rawValue
        case .unfinished: break
        }
        let heard = isUnfinished ? lastActiveAt : nil
        return SessionState(
            session: key.session, user: key.user, revision: revision, status: statusName,
            isLive: isLive ? true : nil, activity: activity, environment: environment, name: name,
            symbol: activity.symbol(environment),
            healthKitActivityType: activity.healthKitActivityType, mode: mode, banner: banner, startedAt: startedAt,
            endedAt: endedAt, endReason: endReason, countdownEndsAt: countdownEndsAt, segments: segments, laps: laps,
            units: units, timeZone: timeZone, profile: profile, permissions: permissions, place: place, run: run,
            lastActiveAt: heard, expiresAt: heard.map { $0 + Self.expiry }, streams: streams)
    }
}

/// Times that results can be computed with: from 1970 to the year 9999.
private let times = Timestamp(microseconds: 0)...Timestamp(seconds: 253_402_300_799)

extension SessionState {
    /// What makes the state impossible, naming the field; `nil` for one that a session can have.
    package var validationError: String? {
        if let error = segments.validationError { return "segments: \(error)" }
        if !laps.allSatisfy(times.contains) { return "laps: out of range" }
        if let start = startedAt, !times.contains(start) { return "startedAt: out of range" }
        guard let profile else { return nil }
        let year = profile.birthYear ?? 2000
        guard (1...9999).contains(year) else { return "profile: birthYear: out of range" }
        // The year of birth was judged when the profile was set.
        return profile.validationError(year: year).map { "profile: \($0)" }
    }
}

extension [Segment] {
    /// Why a session cannot have them; `nil` when it can.
    var validationError: String? {
        var previous = times.lowerBound
        for (index, segment) in enumerated() {
            let end = segment.end ?? times.upperBound
            guard segment.start >= previous, segment.start <= end, end <= times.upperBound else {
                return "out of range or order"
            }
            guard segment.end != nil || index == count - 1 else { return "only the last is open" }
            previous = end
        }
        return nil
    }
}
