/// The facts of a participant's newest `workout` that results need.
package struct RunWorkout: Codable, Equatable, Sendable {
    package var session: SessionID
    package var revision: Int64
    package var incomplete: Bool?
    /// Whether it is no longer what the device recorded.
    package var edited: Bool?
    package var environment: Environment
    package var segments: [Segment]
    package var activeDuration: Double
    package var elapsedDuration: Double
    package var distance: Double?
    package var averageHeartRate: Double?
    package var hasRoute: Bool
    /// The revision of each summary, whose final rows give the curve.
    package var summaries: [String: Int64]

    package init(_ workout: WorkoutRecord) {
        session = workout.session
        revision = workout.revision
        incomplete = workout.incomplete
        edited = workout.edited
        environment = workout.environment
        segments = workout.segments
        activeDuration = workout.activeDuration
        elapsedDuration = workout.elapsedDuration
        distance = workout.distance
        averageHeartRate = workout.averageHeartRate
        hasRoute = workout.polyline != nil
        summaries = workout.summaries
    }
}
