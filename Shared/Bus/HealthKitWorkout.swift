package import Workouts

/// What a companion app needs to write a workout to HealthKit, in HealthKit's own identifiers and units.
package struct HealthKitWorkout: Codable, Equatable, Sendable {
    /// The raw value of `HKWorkoutActivityType`.
    package var activityType: Int
    package var startDate: Timestamp
    package var endDate: Timestamp
}
