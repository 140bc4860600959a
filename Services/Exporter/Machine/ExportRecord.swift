import Bus
import Storage
import Workouts

/// What is stored of a session's exports, for good: an upload must never be sent again by itself.
struct ExportRecord: Codable, Equatable, Sendable {
    /// Requests and results that are remembered, so that their repetition is harmless.
    static let answeredLimit = 16

    /// What the exporter goes by of a workout; the whole of it is stored beside.
    struct Workout: Codable, Equatable, Sendable {
        var revision: Int64
        var mode: Mode
        /// The revision of each summary that went in.
        var summaries: [String: Int64]
        var healthKit: HealthKitWorkout
        /// What will hold it, below the folder of exports: known before it is written, so that it is found after a crash.
        var files: [String]
        /// When it may be exported: at once, or when nothing newer came for a while.
        var readyAt: Timestamp
    }

    var workout: Workout
    /// By the targets' names.
    var jobs: [ExportJob] = []
    /// The latest requests and results that were accepted, oldest first.
    private(set) var answered: [CommandID] = []
    /// When something came of it last, by the service's clock.
    var changedAt: Timestamp

    init(workout: Workout, changedAt: Timestamp) {
        self.workout = workout
        self.changedAt = changedAt
    }

    /// `user/session` → a record as JSON.
    static let exports = StoreCollection("exports")
    /// `user/session` → the payload of `workout`.
    static let workouts = StoreCollection("workouts")
    static let schema = StoreSchema(service: "exporter", steps: [[exports, workouts]])

    subscript(target: Target) -> ExportJob? {
        get { jobs.first { $0.target == target } }
        set {
            jobs.removeAll { $0.target == target }
            if let newValue { jobs.append(newValue) }
            jobs.sort { $0.target < $1.target }
        }
    }

    func hasAnswered(_ id: CommandID) -> Bool { answered.contains(id) }

    mutating func answer(_ id: CommandID) {
        if answered.count == Self.answeredLimit { answered.removeFirst() }
        answered.append(id)
    }

    /// Whether there is something that the service itself is still to do.
    var isOpen: Bool { jobs.contains { $0.target != .healthKit && $0.isOpen } }

    /// Whether nothing happens to it any more and its retained topics are gone: it is not held in memory until the session
    /// is heard of again.
    func isAtRest(_ now: Timestamp) -> Bool {
        !isOpen && now.seconds(since: changedAt) >= ExporterMachine.retention
    }
}
