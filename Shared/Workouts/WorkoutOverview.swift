/// One line of a user's history.
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
}
