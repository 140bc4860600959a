import Workouts

/// What ``LiveRun`` needs of a run. The machine makes a new one whenever the run or a block changes.
struct RunRoster: Equatable, Sendable {
    struct Participant: Equatable, Sendable {
        var user: User
        var status: ParticipantStatus
        var sharing: Sharing
        /// When this participant begins.
        var startsAt: Timestamp?
        /// The session that counts, once there is one.
        var session: SessionID?
        var units = Units.metric
        /// The users whom this participant blocks, or who block this participant.
        var blocked: Set<User> = []

        init(_ user: User, _ status: ParticipantStatus, sharing: Sharing) {
            self.user = user
            self.status = status
            self.sharing = sharing
        }
    }

    var run: RunID
    var settings: RunSettings
    var status: RunStatus
    var participants: [Participant]
    /// The curve of each ghost; one without a curve yet has no row.
    var ghosts: [Int: RunCurve] = [:]
}
