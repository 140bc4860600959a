/// One entry of a user's history.
package struct WorkoutOverview: Codable, Hashable, Sendable {
    package let session: SessionID
    package let name: String
    package let activity: Activity
    package let environment: Environment
    package let startedAt: Timestamp?
    package let endedAt: Timestamp?
    package let timeZone: String?
    /// Seconds without pauses.
    package let activeDuration: Double
    package let distance: Double?
    package let activeEnergy: Double?
    package let averageHeartRate: Double?

    package init(_ workout: WorkoutRecord) {
        session = workout.session
        name = workout.name
        activity = workout.activity
        environment = workout.environment
        startedAt = workout.startedAt
        endedAt = workout.endedAt
        timeZone = workout.timeZone
        activeDuration = workout.activeDuration
        distance = workout.distance
        activeEnergy = workout.activeEnergy
        averageHeartRate = workout.averageHeartRate
    }

    /// The position in the history.
    package var place: HistoryPlace {
        HistoryPlace(at: startedAt ?? endedAt ?? Timestamp(microseconds: 0), session: session)
    }
}

/// The position of a workout in a user's history: by start, then by id.
package struct HistoryPlace: Codable, Hashable, Comparable, Sendable {
    /// The start of the workout; the end if it never became active.
    package let at: Timestamp
    package let session: SessionID

    package init(at: Timestamp, session: SessionID) {
        self.at = at
        self.session = session
    }

    package static func < (left: HistoryPlace, right: HistoryPlace) -> Bool {
        (left.at, left.session) < (right.at, right.session)
    }
}
