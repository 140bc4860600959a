import AsyncHTTPClient
import Formats
import ServiceKit
import Storage
import Workouts

/// A place that finished workouts are exported to.
///
/// A new target is one file with a conforming type, one line in ``ExportTargets/all`` and its settings in
/// ``ExportConfiguration``. Scheduling, records, retries, statuses, requests and metrics follow from these.
protocol ExportTarget: Sendable {
    /// The name in topics, records, requests and metrics. It never changes, because records contain it.
    static var name: Target { get }
    static var policy: ExportPolicy { get }
    /// Workouts in delivery at one time.
    static var concurrency: Int { get }

    /// Returns `nil` if the configuration does not ask for the target.
    init?(_ configuration: ExportConfiguration, _ resources: ExportResources)

    /// Returns whether the user's workouts go to the target. The loop awaits it once for each user of a batch.
    func takes(_ user: User) async -> Bool

    /// Brings a workout to the target. A repeated delivery does no harm.
    ///
    /// A target with ``ExportPolicy/replace`` also removes everything that earlier revisions left there.
    /// - Parameters:
    ///   - idempotencyKey: the same for every attempt at one delivery, also after a restart.
    ///   - fence: asked before an earlier delivery is replaced, unless the place itself compares idempotency keys.
    ///   - allowance: asked before files grow.
    func deliver(
        _ workout: ExportedWorkout, idempotencyKey: String, fence: DeliveryFence, allowance: ByteAllowance
    ) async -> Delivery

    /// Removes everything of deleted sessions. Sessions without anything there are no error.
    func remove(_ keys: Set<SessionKey>) async throws

    /// Removes incomplete files of earlier owners for sessions of these shards, which this process owns under these epochs.
    /// Deliveries of this process may run at the same time and keep their files.
    func removeLeftovers(_ epochs: [Shard: Epoch]) async throws
}

extension ExportTarget {
    func takes(_ user: User) async -> Bool { true }
    func remove(_ keys: Set<SessionKey>) async throws {}
    func removeLeftovers(_ epochs: [Shard: Epoch]) async throws {}
}

/// How a target handles later revisions of a workout, and which component performs the export.
enum ExportPolicy: Sendable {
    /// A later revision replaces the earlier one.
    case replace
    /// A workout goes there once. A later revision goes there on request only, under a new idempotency key.
    case once
    /// The user's device performs the export: it reads the status, writes the workout and publishes a result. The
    /// exporter never calls `deliver`.
    case device
}

/// What targets share besides the configuration.
struct ExportResources: Sendable {
    let clock: any WallClock
    let client: HTTPClient
    /// The folder of temporary files.
    let folder: String
    var uploadTimeout = UploadTarget.timeout
}

/// The outcome of a delivery. Reasons are for people.
enum Delivery: Equatable, Sendable {
    static let corrupt = Delivery.failed("series or track are corrupt")

    /// The target has the workout: in `files`, if it keeps files.
    case delivered(files: [String] = [])
    /// The target refuses the workout. The exporter does not retry.
    case refused(String)
    /// A later attempt may succeed, after `retryAfter` seconds at the earliest.
    case failed(String, retryAfter: Double? = nil)
}
