import Bus
import Workouts

/// The export of one session to one target.
struct ExportJob: Codable, Equatable, Sendable {
    let target: Target
    var status = ExportStatus.Status.pending
    /// The revision of its status.
    var revision: Int64 = 0
    /// The revision of the workout that it is about.
    var workout: Int64
    /// How often it was tried in vain.
    var attempts = 0
    /// When it is tried, or a device asked again.
    var nextAttemptAt: Timestamp?
    /// Why it failed the last time, for people.
    var reason: String?
    /// The revision of the workout that the target has.
    var delivered: Int64?
    /// The upload was asked for once more after the first: the status's revision at that time, for a key of its own.
    var again: Int64?
    /// What holds it, below the folder of exports.
    var files: [String] = []
    /// What held an earlier revision and is to go.
    var oldFiles: [String] = []
    /// Of HealthKit: who is to write it.
    var mode: Mode?
    /// Of HealthKit: a device was asked for the workout of this job.
    var isAsked: Bool?

    init(target: Target, workout: Int64) {
        self.target = target
        self.workout = workout
    }

    /// Whether it is to be done yet.
    var isOpen: Bool { status == .pending || status == .exporting }

    /// What makes repeating it harmless.
    func idempotencyKey(of key: SessionKey) -> String {
        guard delivered != nil, let again else { return "\(key)/\(target)" }
        return "\(key)/\(target)/\(again)"
    }
}
