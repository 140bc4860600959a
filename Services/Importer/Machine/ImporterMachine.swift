import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import Storage
import Workouts

/// Decides about imports: takes parts, has files read, compares them with the workouts that are there and says which to
/// log.
///
/// A value: it reads no clock and performs nothing. ``entries`` has all imports until an hour after their end; the store
/// lists those that ended before.
struct ImporterMachine {
    /// Imports of a user that are not over.
    static let unfinishedLimit = 20
    /// Bytes of a file, as it is sent and unpacked.
    static let byteLimit = 32 << 20
    /// Unpacked bytes of a user's files in a day.
    static let bytesPerDay = 4 << 30
    /// Imports of a user that are logged at a time, and of all users: more of them would take the time of live sessions.
    static let playersOfUser = 6
    static let players = 10
    /// Seconds that a status is retained after the end. Until then a refused file can be read again.
    static let lifetime = 3_600.0
    /// Seconds that an import is listed after that.
    static let listed = 90 * 86_400.0
    /// Seconds to wait for the next part, and for an answer.
    static let partTimeout = 86_400.0
    static let answerTimeout = 7 * 86_400.0
    /// Seconds between statuses that differ in their progress alone.
    static let progressInterval = 1.0

    enum Stage {
        /// Its next step is due at `dueAt`.
        case idle
        /// Another import of the user, which may be the same workout, came first.
        case held
        /// The file is being read. Outcomes of other readings do not count.
        case reading(Int)
        case comparing(Comparison)
        case playing
    }

    struct Entry {
        var record: ImportRecord
        var stage = Stage.idle
        var dueAt: Moment?
        var progress: Double?
        var topic: RetainedTopic
        /// When the status was last published.
        var shownAt: Moment?

        init(_ record: ImportRecord) {
            self.record = record
            topic = RetainedTopic(revision: record.revision)
        }
    }

    private(set) var entries: [ImportKey: Entry] = [:]
    /// The imports of each user.
    private(set) var keys: [User: Set<ImportKey>] = [:]
    /// Parts that are not on disk yet.
    var parts: [ImportKey: [Int: Data]] = [:]
    var quota = DailyQuota(limit: bytesPerDay)
    let newID: () -> CommandID
    private var readings = 0
    var sweptAt: Moment?

    init(newID: @escaping () -> CommandID = { CommandID(UUID()) }) {
        self.newID = newID
    }

    // MARK: Entries

    mutating func load(_ record: ImportRecord, of key: ImportKey, now: Moment) {
        guard entries[key] == nil else { return }
        var record = record
        record.limit(to: now)
        store(Entry(record), key)
    }

    mutating func store(_ entry: Entry, _ key: ImportKey) {
        entries[key] = entry
        keys[key.user, default: []].insert(key)
    }

    mutating func evict(_ key: ImportKey) {
        entries[key] = nil
        keys[key.user]?.remove(key)
        if keys[key.user]?.isEmpty == true { keys[key.user] = nil }
    }

    /// The imports of a user.
    func entries(of user: User) -> some Sequence<(key: ImportKey, value: Entry)> {
        keys[user, default: []].lazy.compactMap { [entries] key in entries[key].map { (key: key, value: $0) } }
    }

    func unfinished(_ user: User) -> Int { entries(of: user).count { !$0.value.record.status.isOver } }

    /// Changes an import's status, and saves and publishes it.
    mutating func move(
        _ key: ImportKey, to status: ImportStatus.Status, reason: String? = nil, now: Moment
    ) -> [ImporterAction] {
        guard var entry = entries[key] else { return [] }
        entry.record.status = status
        entry.record.reason = reason
        entry.record.changedAt = now
        entry.stage = .idle
        entry.dueAt = nil
        entry.progress = nil
        show(&entry, now)
        store(entry, key)
        guard status.isOver else { return [.save(key), .publish(key)] }
        // A refused file can be read again as long as its status is retained.
        return (status == .done ? [.saveContent(key), .eraseParts(key)] : [])
            + [.save(key), .publish(key), .acknowledge(key)]
    }

    mutating func refuse(_ key: ImportKey, _ reason: String, now: Moment) -> [ImporterAction] {
        move(key, to: .refused, reason: reason, now: now)
    }

    private func show(_ entry: inout Entry, _ now: Moment) {
        entry.record.revision = entry.topic.revise(now.wallClock)
        entry.shownAt = now
    }

    // MARK: Parts

    /// Takes a part. Parts count in their order; a repeated or an early one gets the same acknowledgement again.
    mutating func receivePart(_ part: ImportPart, of key: ImportKey, now: Moment) throws(PayloadError)
        -> [ImporterAction]
    {
        let (whole, rest) = part.bytes.quotientAndRemainder(dividingBy: ImportPart.size)
        guard part.of == whole + (rest > 0 ? 1 : 0),
            part.content.count == (part.n < whole ? ImportPart.size : rest)
        else {
            throw .malformed("parts have \(ImportPart.size) bytes, the last one the rest, and together `bytes`")
        }
        var actions: [ImporterAction] = []
        if entries[key] == nil {
            guard part.n == 0 else { return [.refuse(key, nil)] }
            if let refusal = begin(part, key, now, &actions) { return [.refuse(key, refusal)] }
        }
        guard var entry = entries[key] else { return actions }
        guard (part.of, part.bytes) == (entry.record.of, entry.record.bytes) else {
            let refusal = Refusal(
                code: "import_reused",
                message: "import \(key.id) is of '\(entry.record.name)'; upload another file under a new id")
            return [.refuse(key, refusal)]
        }
        guard entry.record.status == .receiving, part.n == entry.record.received else {
            return actions + [.acknowledge(key)]
        }
        parts[key, default: [:]][part.n] = part.content
        entry.record.received += 1
        entry.record.changedAt = now
        store(entry, key)
        actions += [.savePart(key, part.n)]
        if entry.record.received == entry.record.of {
            return actions + move(key, to: .reading, now: now) + [.acknowledge(key)]
        }
        let progress = Double(entry.record.received) / Double(entry.record.of)
        return actions + [.save(key)] + showProgress(progress, of: key, now: now) + [.acknowledge(key)]
    }

    /// Returns why the import may not begin now.
    private mutating func begin(
        _ part: ImportPart, _ key: ImportKey, _ now: Moment, _ actions: inout [ImporterAction]
    ) -> Refusal? {
        guard unfinished(key.user) < Self.unfinishedLimit else {
            return Refusal(
                code: "too_many_imports",
                message: "\(Self.unfinishedLimit) files are not done yet; wait, or answer their questions",
                retryAfter: 10)
        }
        guard quota.available(to: key.user, now) > 0 else {
            return Refusal(
                code: "too_many_bytes",
                message: "at most \(Self.bytesPerDay >> 30) GiB of files a day; continue after 00:00 UTC",
                retryAfter: Double(DailyQuota.secondsLeft(now)))
        }
        store(Entry(ImportRecord(part, now: now)), key)
        if part.bytes > Self.byteLimit {
            actions += refuse(key, Self.tooLarge(part.name, part.bytes), now: now)
        } else {
            actions += move(key, to: .receiving, now: now)
        }
        return nil
    }

    static func tooLarge(_ name: String, _ bytes: Int?) -> String {
        let size = bytes.map { "\($0 >> 20) MiB" } ?? "more"
        return "'\(name)' has \(size); a file has at most \(byteLimit >> 20) MiB unpacked: split it, or export it "
            + "without developer data"
    }

    /// Publishes progress, at most once a second.
    mutating func showProgress(_ progress: Double, of key: ImportKey, now: Moment) -> [ImporterAction] {
        guard var entry = entries[key] else { return [] }
        entry.progress = progress
        let isDue = entry.shownAt.map { now.seconds(since: $0) >= Self.progressInterval } ?? true
        if isDue { show(&entry, now) }
        store(entry, key)
        return isDue ? [.save(key), .publish(key)] : []
    }

    // MARK: Files to read

    struct Reading: Hashable {
        let key: ImportKey
        let number: Int
    }

    /// The files to read now: users with the fewest imports in progress first, then the oldest import.
    ///
    /// - Parameter room: how many files may be read, and how many may be logged.
    mutating func beginReadings(_ room: (reading: Int, logging: Int), now: Moment) -> [Reading] {
        var (readings, logging) = ([Reading](), room.logging)
        var load: [User: Int] = [:]
        for (key, entry) in entries {
            switch entry.stage {
            case .playing: load[key.user, default: 0] += 1
            case .reading where entry.record.status != .reading: load[key.user, default: 0] += 1
            default: break
            }
        }
        var due = entries.filter { isDue($0.value, now) }.map { (key: $0.key, record: $0.value.record) }
            .sorted { ($0.record.beganAt, $0.key) > ($1.record.beganAt, $1.key) }
        while readings.count < room.reading {
            // The last one is the oldest.
            let next = due.indices.reversed().filter { index in
                let (key, record) = due[index]
                return record.status == .reading
                    || logging > 0 && load[key.user, default: 0] < Self.playersOfUser
            }.min { load[due[$0].key.user, default: 0] < load[due[$1].key.user, default: 0] }
            guard let next else { break }
            let (key, record) = due.remove(at: next)
            if record.status != .reading { logging -= 1 }
            load[key.user, default: 0] += 1
            self.readings += 1
            entries[key]?.stage = .reading(self.readings)
            readings.append(Reading(key: key, number: self.readings))
        }
        return readings
    }

    private func isDue(_ entry: Entry, _ now: Moment) -> Bool {
        guard case .idle = entry.stage, [.reading, .logging, .waiting].contains(entry.record.status) else {
            return false
        }
        return entry.dueAt.map { $0 <= now } ?? true
    }

    /// Whether the outcome of a reading counts: not after a hand-over, a cancellation or a new reading.
    func awaits(_ reading: Reading) -> Bool {
        if case .reading(reading.number)? = entries[reading.key]?.stage { true } else { false }
    }

    mutating func set(_ stage: Stage, of key: ImportKey) { entries[key]?.stage = stage }

    mutating func change(_ key: ImportKey, _ body: (inout ImportRecord) -> Void) {
        if entries[key] != nil { body(&entries[key]!.record) }
    }

    /// Reads the file again later.
    mutating func postpone(_ key: ImportKey, seconds: Double, now: Moment) {
        entries[key]?.stage = .idle
        entries[key]?.dueAt = now + seconds
    }

    /// Tries an import again later.
    mutating func wait(_ key: ImportKey, _ reason: String, seconds: Double, now: Moment) -> [ImporterAction] {
        let isNew = entries[key]?.record.status != .waiting || entries[key]?.record.reason != reason
        let actions = isNew ? move(key, to: .waiting, reason: reason, now: now) : []
        postpone(key, seconds: seconds, now: now)
        return actions
    }
}
