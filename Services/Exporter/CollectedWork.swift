import Workouts

/// What was begun and has come whole: to be written and brought to its targets.
struct CollectedWork: Sendable {
    let work: ExportWork
    let workout: WorkoutRecord
    let series: Series
    let track: Track
}

/// What came of one destination.
struct DeliveryOutcome: Sendable {
    let key: SessionKey
    let target: Target
    /// As its destination says.
    let begun: Int64
    let delivery: Delivery
    /// How long writing and bringing it took.
    let took: Duration

    init(key: SessionKey, _ destination: ExportWork.Destination, delivery: Delivery, took: Duration = .zero) {
        self.key = key
        target = destination.target
        begun = destination.begun
        self.delivery = delivery
        self.took = took
    }
}
