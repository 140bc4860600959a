import Workouts

/// What of a Live Activity stays as it began: the app's `WorkoutWidgetAttributes`.
struct ActivityAttributes: Equatable, Sendable {
    /// The name of an SF Symbol.
    var symbol: String
    /// The raw value of `HKWorkoutActivityType`.
    var workoutActivityType: Int
    var workoutName: String
}

extension ActivityAttributes {
    init(_ state: SessionState) {
        symbol = state.symbol
        workoutActivityType = state.healthKitActivityType
        workoutName = state.name
    }
}
