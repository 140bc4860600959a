package import Workouts

/// A user's contacts for virtual runs, on `run-people`.
package struct RunPeople: Codable, Equatable, Sendable {
    package static let limit = 200

    package var revision: Int64
    package var contacts: [User]
    package var blocked: [User]
    package var invitesFrom: InvitesFrom

    package init(
        revision: Int64, contacts: [User] = [], blocked: [User] = [], invitesFrom: InvitesFrom = .everyone
    ) {
        self.revision = revision
        self.contacts = contacts
        self.blocked = blocked
        self.invitesFrom = invitesFrom
    }
}

/// A run in a user's list of runs.
package struct RunOverview: Codable, Hashable, Sendable {
    package var run: RunID
    package var status: RunStatus
    package var name: String?
    package var host: User
    package var createdAt: Timestamp
    package var startsAt: Timestamp?
    /// Participants and ghosts.
    package var runners: Int
    /// The reader's own status, and place if there are results.
    package var own: ParticipantStatus
    package var place: Int?

    package init(
        run: RunID, status: RunStatus, host: User, createdAt: Timestamp, runners: Int, own: ParticipantStatus
    ) {
        self.run = run
        self.status = status
        self.host = host
        self.createdAt = createdAt
        self.runners = runners
        self.own = own
    }
}

/// When a runner of a finished run passed each whole kilometre and mile, in seconds by the run's clock.
package struct RunSplits: Codable, Hashable, Sendable {
    /// The most times of either unit: a marathon's.
    package static let limit = 50

    /// Absent for a pacing partner.
    package var user: User?
    /// The number of a ghost.
    package var ghost: Int?
    package var km: [Double]
    package var mi: [Double]

    package init(user: User?, ghost: Int? = nil, _ curve: RunCurve, upTo end: Double) {
        self.user = user
        self.ghost = ghost
        (km, mi) = (Self.times(curve, 1_000, end), Self.times(curve, 1_609.344, end))
    }

    private static func times(_ curve: RunCurve, _ length: Double, _ end: Double) -> [Double] {
        (1...limit).map { Double($0) * length }.prefix { $0 <= end }
            .compactMap { curve.seconds(to: $0).map { ($0 * 10).rounded() / 10 } }
    }
}

/// The route that a participant shares after the run.
package struct RunRoute: Codable, Hashable, Sendable {
    package var user: User
    /// Google's encoded polylines with 5 digits, one for each part between gaps.
    package var polyline: [String]
    /// The heart rate of each vertex; `null` where it is unknown. Absent if it is not shared.
    package var h: [[Double?]]?

    package init(user: User, polyline: [String], h: [[Double?]]? = nil) {
        self.user = user
        self.polyline = polyline
        self.h = h
    }
}
