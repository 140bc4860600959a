import Bus
import ServiceKit
import Storage
import Workouts

/// The stored state of a session's exports. It is never removed, so that no upload repeats without a request.
struct ExportRecord: Codable, Equatable, Sendable {
    /// Requests and results whose repetition is recognized.
    static let answeredLimit = 16

    /// The part of a workout that decides about its exports. The whole workout is stored beside the record.
    struct Workout: Codable, Equatable, Sendable {
        var revision: Int64
        var mode: Mode
        /// The revision of each summary that the workout contains.
        var summaries: [String: Int64]
        var healthKit: HealthKitWorkout
        /// The earliest time of an export: an incomplete workout waits for a newer revision.
        var readyAt: Moment

        init(_ workout: WorkoutRecord, now: Moment) {
            revision = workout.revision
            mode = workout.mode
            summaries = workout.summaries
            healthKit = HealthKitWorkout(workout)
            readyAt = workout.incomplete == true ? now + ExporterMachine.incompleteDelay : now
        }
    }

    /// What the user wrote about a workout, of the session's copy of the profile.
    struct Notes: Codable, Equatable, Sendable {
        /// That of the copy.
        var revision: Int64
        var note: String?
        var exertion: Int?

        init(_ profile: SessionProfile) {
            revision = profile.revision
            note = profile.edit?.note
            exertion = profile.edit?.exertion
        }
    }

    var workout: Workout
    /// Absent before the first edit.
    var notes: Notes?
    /// Sorted by target.
    var jobs: [ExportJob] = []
    /// The latest accepted requests and results, oldest first.
    private(set) var answered: [CommandID] = []
    /// The time of the last change, by the service's clock.
    var changedAt: Moment

    init(workout: Workout, changedAt: Moment) {
        self.workout = workout
        self.changedAt = changedAt
    }

    /// `user/session` → a record as JSON.
    static let exports = StoreCollection("exports")
    /// `user/session` → the payload of `workout`.
    static let workouts = StoreCollection("workouts")
    static let schema = StoreSchema(service: "exporter", steps: [[exports, workouts, DailyQuota.collection]])

    subscript(target: Target) -> ExportJob? {
        get { jobs.first { $0.target == target } }
        set {
            jobs.removeAll { $0.target == target }
            if let newValue { jobs.append(newValue) }
            jobs.sort { $0.target < $1.target }
        }
    }

    /// Limits moments that were stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) {
        changedAt = changedAt.atMost(now)
        workout.readyAt = workout.readyAt.atMost(now + ExporterMachine.incompleteDelay)
        for index in jobs.indices {
            jobs[index].nextAttemptAt = jobs[index].nextAttemptAt?.atMost(now + RetryPlan.longestRetryAfter)
        }
    }

    func hasAnswered(_ id: CommandID) -> Bool { answered.contains(id) }

    mutating func answer(_ id: CommandID) {
        if answered.count == Self.answeredLimit { answered.removeFirst() }
        answered.append(id)
    }

    /// Whether the exporter itself has work left.
    var isOpen: Bool { jobs.contains { !$0.isForDevice && $0.isOpen } }

    /// The time of the exporter's next attempt.
    var dueAt: Moment? {
        jobs.filter { !$0.isForDevice && $0.status == .pending }.compactMap(\.nextAttemptAt).min()
    }

    /// Whether the lifetime of retained topics has passed since the last change.
    func isOld(_ now: Moment) -> Bool { now.seconds(since: changedAt) >= RetainedTopic.lifetime }

    /// Whether no export is open and the retained topics have expired. Such a record leaves memory until a message about
    /// its session arrives.
    func isAtRest(_ now: Moment) -> Bool {
        !jobs.contains(where: \.isOpen) && isOld(now)
    }
}
