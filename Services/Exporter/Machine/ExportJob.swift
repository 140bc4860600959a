import Bus
import ServiceKit
import Timing
import Workouts

/// The export of one session to one target. Every change gets a new revision: see ``ExporterMachine/Entry/revise(_:_:)``.
struct ExportJob: Codable, Equatable, Sendable {
    let target: Target
    var status = ExportStatus.Status.pending
    /// The revision of the status.
    var revision: Int64 = 0
    /// The revision of the workout that the status is about.
    var workout: Int64
    /// Failed attempts.
    var attempts = 0
    /// The time of the next attempt, or of the next request to a device.
    var nextAttemptAt: Moment?
    /// The reason of the last failure, for people.
    var reason: String?
    /// The revision of the workout that the target has.
    var delivered: Int64?
    /// The revision of the status when a client requested another delivery. It makes a new idempotency key.
    var again: Int64?
    /// The files that contain the workout, if the target keeps files.
    var files: [String] = []
    /// The device that performs the export; `nil` if the exporter performs it.
    var mode: Mode?
    /// Whether a device was asked for the workout of this job.
    var isAsked: Bool?
    /// The client of the watch, after its failure gave the export to the phone.
    var watch: Client?

    init(target: Target, workout: Int64) {
        self.target = target
        self.workout = workout
    }

    /// Whether work remains, for the exporter or for a device.
    var isOpen: Bool { status == .pending || status == .exporting }

    /// Whether the user's device performs the export.
    var isForDevice: Bool { mode != nil }

    func isDue(_ now: Moment) -> Bool {
        guard !isForDevice, status == .pending, let nextAttemptAt else { return false }
        return nextAttemptAt <= now
    }

    /// Makes a repeated delivery harmless.
    func idempotencyKey(of key: SessionKey) -> String {
        guard delivered != nil, let again else { return "\(key)/\(target)" }
        return "\(key)/\(target)/\(again)"
    }
}

// MARK: Changes

extension ExportJob {
    /// Takes a newer revision of the workout and returns whether the job changed.
    mutating func renew(_ known: ExportRecord.Workout, _ policy: ExportPolicy) -> Bool {
        guard policy != .device else { return renewOnDevice(known) }
        guard takes(known.revision, policy) else { return false }
        let isBackingOff = status == .pending && attempts > 0
        if !isBackingOff { attempts = 0 }
        wait(for: known, until: isBackingOff ? nextAttemptAt : nil)
        return true
    }

    /// Whether the target still needs a revision of the workout.
    private func takes(_ revision: Int64, _ policy: ExportPolicy) -> Bool {
        policy == .replace ? revision > delivered ?? -1 : delivered == nil || again != nil
    }

    /// - Parameter until: the earliest time of the next attempt, besides the workout's own.
    private mutating func wait(for known: ExportRecord.Workout, until: Moment? = nil) {
        status = .pending
        workout = known.revision
        nextAttemptAt = max(known.readyAt, until ?? known.readyAt)
    }

    /// Makes the export due at once, and delivers the workout again if the target has it.
    mutating func request(_ known: ExportRecord.Workout, _ policy: ExportPolicy, now: Moment) {
        if policy == .once, delivered != nil { again = again ?? revision }
        status = .pending
        workout = known.revision
        attempts = 0
        reason = nil
        nextAttemptAt = now
    }

    mutating func begin(_ known: ExportRecord.Workout) {
        // Until the first delivery succeeds, a request asks for that one.
        if delivered == nil { again = nil }
        status = .exporting
        workout = known.revision
        nextAttemptAt = nil
    }

    /// Makes a delivery that a restart interrupted due at once.
    mutating func resume(_ now: Moment) {
        status = .pending
        nextAttemptAt = now
    }

    /// Takes the outcome of a delivery.
    ///
    /// - Parameter begun: the revision of the status at the begin of the delivery.
    mutating func end(
        _ delivery: Delivery, begun: Int64, _ known: ExportRecord.Workout, _ policy: ExportPolicy, now: Moment
    ) {
        switch delivery {
        case .delivered(let files):
            status = .done
            attempts = 0
            reason = nil
            nextAttemptAt = nil
            self.files = files
            // A request during the delivery still needs another one.
            if again ?? -1 < begun { again = nil }
            delivered = workout
            if takes(known.revision, policy) { wait(for: known) }
        case .refused(let why):
            status = .failed
            attempts += 1
            reason = why
            nextAttemptAt = nil
            guard known.revision > workout, takes(known.revision, policy) else { return }
            attempts = 0
            wait(for: known)
        case .failed(let why, let retryAfter):
            attempts += 1
            reason = why
            wait(for: known, until: RetryPlan.next(after: attempts, retryAfter: retryAfter, now: now))
        }
    }
}

/// The backoff after failed attempts.
enum RetryPlan {
    private static let backoff = Backoff(minimum: 60, maximum: 6 * 3_600)
    /// The longest `Retry-After` of a target that counts, in seconds.
    static let longestRetryAfter = 86_400.0

    /// - Parameters:
    ///   - failures: consecutive failures, at least one.
    ///   - retryAfter: the delay that the target asked for, in seconds.
    static func next(after failures: Int, retryAfter: Double? = nil, now: Moment) -> Moment {
        let planned = backoff.delay(after: failures)
        guard let retryAfter, retryAfter > planned else { return now + planned }
        return now + min(retryAfter, longestRetryAfter)
    }
}
