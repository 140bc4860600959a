package import Workouts

/// How far the export of a workout to one target has come, on `export/{target}`.
package struct ExportStatus: Codable, Equatable, Sendable {
    package enum Status: String, Codable, CaseIterable, Sendable {
        /// It is to be done, or to be tried again.
        case pending
        /// It is being written or sent, or a device was asked.
        case exporting
        case done
        /// It will not be tried again by itself.
        case failed
    }

    package var session: SessionID
    package var user: User
    package var target: Target
    package var revision: Int64
    package var status: Status
    /// The revision of the `workout` that it is about.
    package var workout: Int64
    /// How often it was tried in vain.
    package var attempts: Int
    /// When it is tried again.
    package var nextAttemptAt: Timestamp?
    /// Why it failed the last time, for people.
    package var reason: String?
    /// What was written, below the folder of exports.
    package var files: [String]?
    /// Who is to write it to HealthKit: a watch saves its own workout, of which `healthKit` tells nothing.
    package var mode: Mode?
    /// What a device is asked to write.
    package var healthKit: HealthKitWorkout?

    package init(
        key: SessionKey, target: Target, revision: Int64, status: Status, workout: Int64, attempts: Int = 0
    ) {
        session = key.session
        user = key.user
        self.target = target
        self.revision = revision
        self.status = status
        self.workout = workout
        self.attempts = attempts
    }
}

/// What a device that performs an export says of it, on `export/{target}/result`. Answered on `replies`.
package struct ExportResult: Codable, Equatable, Sendable {
    package var id: CommandID
    package var client: Client
    /// The revision of the `workout` that was written, as it stands in the status.
    package var workout: Int64
    package var ok: Bool
    /// Why it was not written. With the code `denied` the person does not allow it, and it is not tried again.
    package var error: Refusal?

    package init(id: CommandID, client: Client, workout: Int64, error: Refusal? = nil) {
        self.id = id
        self.client = client
        self.workout = workout
        ok = error == nil
        self.error = error
    }
}
