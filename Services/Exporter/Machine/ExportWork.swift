import Workouts

/// A workout to be collected once and brought to one or more targets.
struct ExportWork: Equatable, Sendable {
    struct Destination: Equatable, Sendable {
        let target: Target
        /// The same however often it is tried, also after a restart.
        let idempotencyKey: String
        /// The revision of its status since it was begun, by which what comes of it is told from what was begun before.
        let begun: Int64
    }

    let key: SessionKey
    /// The revision of the workout.
    let workout: Int64
    /// What the workout was made from, for the collector.
    let summaries: [String: Int64]
    let destinations: [Destination]
}
