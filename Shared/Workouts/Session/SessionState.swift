/// The state of a session as session-engine publishes it for all other services.
package struct SessionState: Codable, Equatable, Sendable {
    package var session: SessionID
    package var user: User
    package var revision: Int64
    package var status: SessionStatus
    /// The types of the commands that change the session now; absent if there are none. They are strings because an
    /// engine of a later version may name others.
    package var allowed: [String]?
    /// Whether the time of `start` was close to the engine's clock; absent for a recording.
    package var isLive: Bool?
    /// Whether the completed session was over when it arrived and its record is complete. Its results are then retained
    /// for minutes only.
    package var isPast: Bool?
    /// Whether the user trimmed the finished workout, or changed its activity or environment.
    package var edited: Bool?
    package var activity: Activity
    package var environment: Environment
    package var name: String
    package var symbol: String
    package var healthKitActivityType: Int
    package var mode: Mode
    package var banner: Banner?
    package var startedAt: Timestamp?
    package var endedAt: Timestamp?
    /// The reason for the end: `ended`, or the reason of the cancellation, also after the session was purged.
    package var endReason: String?
    package var countdownEndsAt: Timestamp?
    package var segments: [Segment]
    package var laps: [Timestamp]
    package var units: Units
    package var timeZone: String?
    /// The revision of the user's profile at the start of the session; absent if the user had none.
    package var profileRevision: Int64?
    package var permissions: Permissions?
    package var place: Place?
    /// The length of the pool in metres.
    package var poolLength: Double?
    /// The virtual run of this session.
    package var run: RunID?
    /// The time of the unfinished session's last event, by the engine's clock.
    package var lastActiveAt: Timestamp?
    /// The time at which an unfinished session expires without another event.
    package var expiresAt: Timestamp?
    /// The seconds by which clocks of devices are ahead, of those whose clock is off.
    package var clockSkew: [Device: Double]?
    /// Announced numbers of items.
    package var streams: [StreamName: Int]

    package var key: SessionKey { SessionKey(user, session) }

    /// Whether a command of this kind changes the session now.
    package func allows(_ kind: SessionAction.Kind) -> Bool { allowed?.contains(kind.rawValue) ?? false }
}

extension Session {
    /// The session's published state.
    ///
    /// - Parameters:
    ///   - profileRevision: the revision of the session's profile.
    ///   - clockSkew: the seconds by which clocks of devices are ahead.
    ///   - lastActiveAt: the time of the session's last event.
    package func state(
        revision: Int64, profileRevision: Int64? = nil, clockSkew: [Device: Double] = [:],
        lastActiveAt: Timestamp? = nil
    ) -> SessionState {
        var endReason: String?
        var countdownEndsAt: Timestamp?
        switch status {
        case .saving, .completed: endReason = "ended"
        case .canceled(let reason, _): endReason = reason.rawValue
        case .unfinished(.preparing(let until)): countdownEndsAt = until
        case .deleted(let reason): endReason = reason?.rawValue
        case .unfinished: break
        }
        let allowed = allowed.map(\.rawValue)
        let lastEvent = isUnfinished ? lastActiveAt : nil
        return SessionState(
            session: key.session, user: key.user, revision: revision, status: statusName,
            allowed: allowed.isEmpty ? nil : allowed,
            isLive: isLive ? true : nil, isPast: statusName == .completed ? isPast : nil,
            edited: edit?.isOfRecording == true ? true : nil, activity: activity,
            environment: environment, name: name,
            symbol: activity.symbol(environment),
            healthKitActivityType: activity.healthKitActivityType, mode: mode, banner: banner, startedAt: startedAt,
            endedAt: endedAt, endReason: endReason, countdownEndsAt: countdownEndsAt, segments: segments,
            laps: segmentLaps,
            units: units, timeZone: timeZone, profileRevision: profileRevision,
            permissions: permissions, place: place, poolLength: poolLength, run: run, lastActiveAt: lastEvent,
            expiresAt: lastEvent.map { $0 + Self.expiry }, clockSkew: clockSkew.isEmpty ? nil : clockSkew,
            streams: streams)
    }
}

/// The times that computations accept: 1970 through 9999.
private let times = Timestamp(microseconds: 0)...Timestamp(seconds: 253_402_300_799)

extension SessionState {
    /// The first invalid field; `nil` if a session can have this state.
    package var validationError: String? {
        if let error = segments.validationError { return "segments: \(error)" }
        if !laps.allSatisfy(times.contains) { return "laps: out of range" }
        if let start = startedAt, !times.contains(start) { return "startedAt: out of range" }
        return nil
    }
}

extension [Segment] {
    /// What makes the segments impossible; `nil` if a session can have them.
    var validationError: String? {
        var previous = times.lowerBound
        for (index, segment) in enumerated() {
            let end = segment.end ?? times.upperBound
            guard segment.start >= previous, segment.start <= end, end <= times.upperBound else {
                return "out of range or order"
            }
            guard segment.end != nil || index == count - 1 else { return "only the last can be open" }
            previous = end
        }
        return nil
    }
}
