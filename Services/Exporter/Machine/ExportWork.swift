import Client
import Formats
import Storage
import Workouts

/// A workout that is collected once and delivered to one or more targets.
struct ExportWork: Equatable, Sendable {
    struct Destination: Equatable, Sendable {
        let target: Target
        /// The same for every attempt, also after a restart.
        let idempotencyKey: String
        /// The revision of the status at the start of the delivery. It distinguishes outcomes from those of earlier
        /// deliveries.
        let begun: Int64
    }

    let key: SessionKey
    /// The revision of the workout.
    let workout: Int64
    /// The revision of each summary that the workout contains.
    let summaries: [String: Int64]
    let destinations: [Destination]
}

/// A work with its workout, series and track, ready for delivery.
struct CollectedWork: Sendable {
    let work: ExportWork
    let workout: WorkoutRecord
    let series: CollectedChunks
    let track: CollectedChunks
    let fence: DeliveryFence
    let quota: ExportQuota

    /// The bytes of the chunks.
    var size: Int { series.size + track.size }

    /// The input of the formats. It reads all rows, which takes seconds for millions.
    func exported() throws -> ExportedWorkout {
        try ExportedWorkout(workout: workout, series: try series.series(), track: try track.track())
    }
}

/// Work that runs beside the loop.
enum TargetJob: Sendable {
    /// Delivers a workout and reports its outcomes.
    case deliver(CollectedWork)
    /// Writes a requested file and reports it.
    case write(FileRequests.Name, CollectedWork)
    /// Removes deleted sessions from every target.
    case remove(Set<SessionKey>)
    /// Removes incomplete files of earlier owners.
    case removeLeftovers([Shard: Epoch])

    /// The sessions of a delivery's shard belong to another process.
    func isDelivery(in shards: Set<Shard>) -> Bool {
        if case .deliver(let collected) = self { shards.contains(collected.work.key.session.shard) } else { false }
    }
}

/// The outcome of a delivery to one destination.
struct DeliveryOutcome: Sendable {
    let key: SessionKey
    let target: Target
    /// See ``ExportWork/Destination/begun``.
    let begun: Int64
    let delivery: Delivery
    /// The time that writing and sending took.
    let took: Duration

    init(key: SessionKey, _ destination: ExportWork.Destination, delivery: Delivery, took: Duration = .zero) {
        self.key = key
        target = destination.target
        begun = destination.begun
        self.delivery = delivery
        self.took = took
    }
}
