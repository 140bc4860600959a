import Workouts

/// What ``LiveRun`` needs of a run. The machine makes a new one whenever the run, a block or the units of a participant
/// change.
struct RunRoster: Equatable, Sendable {
    struct Participant: Equatable, Sendable {
        var user: User
        var status: ParticipantStatus
        var sharing: Sharing
        /// What came before does not count, and the gun counts from then on: the run's start, also for late joiners; in
        /// rolling runs the own start.
        var startsAt: Timestamp?
        /// The session that counts, once there is one.
        var session: SessionID?
        var units = Units.metric
        /// The users whom this participant blocks, and those who block this participant.
        var blocked: Set<User> = []

        init(_ user: User, _ status: ParticipantStatus, sharing: Sharing) {
            self.user = user
            self.status = status
            self.sharing = sharing
        }
    }

    struct Ghost: Equatable, Sendable {
        /// Absent for a pacing partner.
        var user: User?
        var curve: RunCurve
    }

    var run: RunID
    var settings: RunSettings
    var status: RunStatus
    var participants: [Participant]
    /// By number; without those whose curve is missing.
    var ghosts: [Int: Ghost] = [:]
}

extension ParticipantStatus {
    /// Whether `partners` go to a participant.
    var receivesPartners: Bool {
        switch self {
        case .confirmed, .running, .finished, .absent: true
        case .invited, .accepted, .declined, .left: false
        }
    }

    /// Whether a participant is a row of the others.
    var hasBegun: Bool { self == .running || self == .finished }
}
