/// The status of a virtual run.
package enum RunStatus: String, Codable, CaseIterable, Sendable {
    case inviting, confirming, starting, running, finished, canceled

    /// Whether nothing begins in it any more.
    package var isOver: Bool { self == .finished || self == .canceled }
}

/// The status of a participant in a virtual run.
package enum ParticipantStatus: String, Codable, CaseIterable, Sendable {
    case invited, accepted, declined, confirmed, running, finished, left, absent
}

/// A runner of a virtual run: a participant, or a ghost by its number in the run.
package enum Runner: Hashable, Comparable, Sendable {
    case participant(User)
    case ghost(Int)
}

/// The age of a runner's data as partners see it.
package enum RunLink: String, Codable, CaseIterable, Sendable {
    case connected, stale, disconnected, paused
    /// The runner finished.
    case finished

    /// Seconds below which data are current, and up to which they are stale.
    package static let staleAge = 8.0
    package static let disconnectedAge = 15.0

    /// The link of a runner who has not finished.
    package init(age: Double, isPaused: Bool) {
        self =
            if isPaused { .paused } else if age < Self.staleAge { .connected } else if age <= Self.disconnectedAge {
                .stale
            } else {
                .disconnected
            }
    }
}

/// What a participant shares with the others beyond distance, pace and link.
package struct Sharing: Hashable, Sendable {
    package static let hideNearRange = 0.0...1_600

    package var position: Bool
    package var heartRate: Bool
    package var route: Bool
    package var ghost: Bool
    /// Metres around the start in which no position is shared.
    package var hideNear = 200.0

    /// The sharing of a run made for two: everything.
    package static let all = Sharing(position: true, heartRate: true, route: true, ghost: true)
    /// The sharing of other runs: heart rate alone.
    package static let group = Sharing(position: false, heartRate: true, route: false, ghost: false)

    package init(position: Bool, heartRate: Bool, route: Bool, ghost: Bool, hideNear: Double = 200) {
        self.position = position
        self.heartRate = heartRate
        self.route = route
        self.ghost = ghost
        self.hideNear = hideNear
    }

    /// Fields to change; absent ones keep their values.
    package struct Change: Hashable, Codable, Sendable {
        package var position: Bool?
        package var heartRate: Bool?
        package var route: Bool?
        package var ghost: Bool?
        package var hideNear: Double?

        package init(
            position: Bool? = nil, heartRate: Bool? = nil, route: Bool? = nil, ghost: Bool? = nil,
            hideNear: Double? = nil
        ) {
            self.position = position
            self.heartRate = heartRate
            self.route = route
            self.ghost = ghost
            self.hideNear = hideNear
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            position = try container.decodeIfPresent(Bool.self, forKey: .position)
            heartRate = try container.decodeIfPresent(Bool.self, forKey: .heartRate)
            route = try container.decodeIfPresent(Bool.self, forKey: .route)
            ghost = try container.decodeIfPresent(Bool.self, forKey: .ghost)
            hideNear = try container.number(Double.self, forKey: .hideNear)
            if let hideNear, !Sharing.hideNearRange.contains(hideNear) {
                throw DecodingError.dataCorruptedError(
                    forKey: .hideNear, in: container, debugDescription: "0 to 1,600 m")
            }
        }
    }

    package mutating func apply(_ change: Change) {
        position = change.position ?? position
        heartRate = change.heartRate ?? heartRate
        route = change.route ?? route
        ghost = change.ghost ?? ghost
        hideNear = change.hideNear ?? hideNear
    }
}

extension Sharing: Codable {}

/// Where a ghost's curve comes from.
package enum GhostSource: Hashable, Sendable {
    /// A finished session: of the user who creates the run, or of another user who shares it as a ghost.
    case session(User?, SessionID)
    /// A pacing partner: seconds per kilometre.
    case pace(Double)

    package static let paces = 120.0...1_800
}

/// A result of a virtual run. Absent means unknown.
package struct RunResult: Codable, Equatable, Sendable {
    package enum Status: String, Codable, Sendable {
        case finished, dnf, left, absent, withdrawn
    }

    package struct Pauses: Codable, Equatable, Sendable {
        package var count: Int
        package var seconds: Double

        package init(count: Int, seconds: Double) {
            self.count = count
            self.seconds = seconds
        }
    }

    /// How far the runner is behind the first.
    package struct Behind: Codable, Equatable, Sendable {
        package var seconds: Double?
        package var meters: Double?

        package init(seconds: Double? = nil, meters: Double? = nil) {
            self.seconds = seconds
            self.meters = meters
        }
    }

    /// Absent for a pacing partner and a runner whose data were deleted with the account.
    package var user: User?
    /// The number of a ghost.
    package var ghost: Int?
    /// From 1; absent for runners without a rank.
    package var place: Int?
    package var status: Status
    /// Seconds by the run's clock.
    package var time: Double?
    /// Metres.
    package var distance: Double?
    package var activeDuration: Double?
    package var elapsedDuration: Double?
    package var pauses: Pauses?
    /// Seconds per kilometre.
    package var pace: Double?
    package var behind: Behind?
    package var averageHeartRate: Double?
    package var environment: Environment?
    package var incomplete: Bool?
    /// The seconds by which the clock of a device was ahead: the figures may be wrong.
    package var clockSkew: Double?
    package var hasRoute: Bool?

    package init(user: User?, ghost: Int? = nil, status: Status) {
        self.user = user
        self.ghost = ghost
        self.status = status
    }
}
