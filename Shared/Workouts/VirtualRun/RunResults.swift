/// The results of a virtual run: a pure function of its settings and of each runner's facts, in any order.
package struct RunResults: Equatable, Sendable {
    /// What results need of a runner.
    package struct Entry: Equatable, Sendable {
        package enum Kind: Equatable, Sendable {
            /// - Parameter isWithdrawn: the session was deleted.
            case participant(ParticipantStatus, isWithdrawn: Bool)
            case ghost(Int)
        }

        /// Absent for a pacing partner and for a participant whose account was erased.
        package var user: User?
        package var kind: Kind
        /// Of a participant in a rolling run, and of a late joiner: the own start.
        package var startsAt: Timestamp?
        package var sharing: Sharing
        package var workout: RunWorkout?
        /// From the final rows of the summaries that `workout` names; `nil` while some are missing.
        package var curve: RunCurve?

        package init(
            user: User?, _ kind: Kind, startsAt: Timestamp? = nil, sharing: Sharing = .group,
            workout: RunWorkout? = nil, curve: RunCurve? = nil
        ) {
            self.user = user
            self.kind = kind
            self.startsAt = startsAt
            self.sharing = sharing
            self.workout = workout
            self.curve = curve
        }
    }

    /// The best first.
    package var rows: [RunResult]
    /// Whether a participant still runs, or a workout is missing or may change.
    package var isProvisional: Bool

    package init(_ settings: RunSettings, _ entries: [Entry]) {
        rows = []
        isProvisional = false
    }
}
