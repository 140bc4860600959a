import Bus
import ServiceKit
import Storage
import Workouts

/// Identifies an import by user and id.
struct ImportKey: Hashable, Comparable, CustomStringConvertible {
    let user: User
    let id: ImportID

    init(_ user: User, _ id: ImportID) {
        (self.user, self.id) = (user, id)
    }

    init?(_ text: String) {
        let parts = text.split(separator: "/").map(String.init)
        guard parts.count == 2, let user = User(parts[0]), let id = ImportID(parts[1]) else { return nil }
        self.init(user, id)
    }

    var description: String { "\(user)/\(id)" }

    static func < (left: ImportKey, right: ImportKey) -> Bool { (left.user, left.id) < (right.user, right.id) }
}

/// The stored state of an import.
struct ImportRecord: Codable, Hashable {
    /// One workout of the file.
    struct Workout: Codable, Hashable {
        let start: Timestamp
        let end: Timestamp
        /// See ``ImportedSession``.
        var generation = 0
        /// Whether the workout is finished.
        var isLogged = false

        /// Whether a workout that is there may be the same one.
        func resembles(_ start: Timestamp, _ end: Timestamp) -> Bool {
            let (own, other) = (self.end.seconds(since: self.start), end.seconds(since: start))
            return abs(start.seconds(since: self.start)) <= 60 && abs(own - other) <= 0.05 * max(own, other)
        }
    }

    var status = ImportStatus.Status.receiving
    var name: String
    /// What the client knows beside the file.
    var workout: ImportPart.Workout?
    /// Of the file as it is sent.
    var bytes: Int
    /// The number of parts, and of those that are stored.
    var of: Int
    var received = 0
    var revision: Int64 = 0
    /// When the first part arrived: imports of a user are logged in this order.
    var beganAt: Moment
    /// When the status or the number of parts last changed.
    var changedAt: Moment
    /// Of the unpacked content, once it was read.
    var fingerprint: String?
    var workouts: [Workout] = []
    /// Whether the user wants it logged although it resembles a workout.
    var mayLog = false
    var match: SessionID?
    var reason: String?
    var remarks: [String] = []

    init(_ part: ImportPart, now: Moment) {
        (name, workout, bytes, of) = (part.name, part.workout, part.bytes, part.of)
        (beganAt, changedAt) = (now, now)
    }

    /// `user/import` → a record as JSON, until an hour after the end.
    static let imports = StoreCollection("imports")
    /// `user/import/number` → the bytes of a part, until the import is over.
    static let parts = StoreCollection("parts")
    /// `user/fingerprint` → the generations of the workouts of a file that was imported.
    static let contents = StoreCollection("contents")
    /// `user/time/import` → a record as JSON, of imports that have been over for an hour.
    static let ended = StoreCollection("ended")
    /// `user` → when the user deleted everything.
    static let erasures = StoreCollection("erasures")
    static let schema = StoreSchema(
        service: "importer", steps: [[imports, parts, contents, ended, erasures, DailyQuota.collection]])

    /// The sessions of its workouts.
    func sessions(of user: User) -> [ImportedSession] {
        guard let fingerprint else { return [] }
        return workouts.enumerated().map { index, workout in
            ImportedSession(user: user, fingerprint: fingerprint, index: index, generation: workout.generation)
        }
    }

    func status(of key: ImportKey, progress: Double?) -> ImportStatus {
        var message = ImportStatus(
            id: key.id, revision: revision, status: status, name: name, bytes: bytes, at: changedAt.wallClock)
        if [.receiving, .logging].contains(status) { message.progress = progress }
        message.sessions = zip(workouts, sessions(of: key.user)).filter(\.0.isLogged).map(\.1.key.session)
        message.reason = reason
        message.remarks = remarks.isEmpty ? nil : remarks
        message.match = match
        return message
    }

    /// Limits moments that were stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) {
        beganAt = beganAt.atMost(now)
        changedAt = changedAt.atMost(now)
    }
}
