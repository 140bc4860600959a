package import Workouts

/// The status of a workout's export to one target, on `export/{target}`.
package struct ExportStatus: Codable, Equatable, Sendable {
    package enum Status: String, Codable, CaseIterable, Sendable {
        /// Waits for its first or next attempt.
        case pending
        /// The files are being written or sent, or a device was asked.
        case exporting
        case done
        /// Failed without further attempts.
        case failed
    }

    package var session: SessionID
    package var user: User
    package var target: Target
    package var revision: Int64
    package var status: Status
    /// The revision of the exported `workout`.
    package var workout: Int64
    /// The number of failed attempts.
    package var attempts: Int
    /// The time of the next attempt.
    package var nextAttemptAt: Timestamp?
    /// The reason of the last failure, for people.
    package var reason: String?
    /// The written files, relative to the export folder.
    package var files: [String]?
    /// The device that writes to HealthKit. A watch saves its own workout, and `healthKit` is absent.
    package var mode: Mode?
    /// The workout for a device to write.
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

/// The outcome of an export by a device, on `export/{target}/result`. The answer goes to `replies`.
package struct ExportResult: Codable, Equatable, Sendable {
    package var id: CommandID
    package var client: Client?
    /// The device that reports.
    package var mode: Mode?
    /// The revision of the written `workout`, from the status.
    package var workout: Int64
    package var ok: Bool
    /// The reason of a failure. The code `denied` means that the user does not allow it; there is no further attempt.
    package var error: Refusal?

    package init(id: CommandID, client: Client?, mode: Mode? = nil, workout: Int64, error: Refusal? = nil) {
        self.id = id
        self.client = client
        self.mode = mode
        self.workout = workout
        ok = error == nil
        self.error = error
    }
}
