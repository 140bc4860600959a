import Bus
import Formats
import ServiceKit
import Timing
import Workouts

/// The files that clients ask for: who waits for which part, and recent files with the chunks that they are made of.
///
/// A value: requests, collected workouts, written files and time go in; steps for the loop come out. A reader asks for the
/// next parts, or for another format, soon after the first: so a workout is kept for a minute after its last use.
struct FileRequests {
    /// Requests of an account: burst and rate a second. Each is answered with up to 2 MiB.
    static let burst = 50.0
    static let rate = 5.0
    /// Readers of one account that wait.
    static let waitingLimit = 64
    /// Workouts of one account whose chunks are collected, and files of it that are written.
    static let accountLimit = 2
    /// Workouts of all accounts whose chunks are collected: one whose owner is missing holds its place for a minute.
    static let collectingLimit = 64
    /// Files of all accounts that are written: enough to keep the cores busy.
    static let writingLimit = 8
    /// Answers in one step of the loop.
    static let answerLimit = 8
    /// Seconds that a workout is kept after its last use.
    static let keptTime = 60.0
    /// Workouts that are kept, and the bytes of their chunks and files, beyond those in use.
    static let keptLimit = 16
    static let keptBytes = 1 << 30

    /// A requested file.
    struct Name: Hashable, Sendable {
        let key: SessionKey
        let format: ExportFormat
    }

    struct Reader: Hashable {
        let id: CommandID
        let client: Client
        /// The first part of the answer.
        let from: Int
    }

    /// Work for the loop.
    enum Step {
        /// Collect the chunks of the workout, then call ``keep(_:_:)``.
        case collect(SessionKey)
        /// Write the file beside the loop, then call ``written(_:)``.
        case write(Name, CollectedWork)
        case answer(Reader, WrittenFile)
        case refuse(SessionKey, Reader, Refusal)
    }

    private struct Waiting {
        let name: Name
        let reader: Reader
    }

    private struct Kept {
        let collected: CollectedWork
        var files: [ExportFormat: WrittenFile] = [:]
        var writing: Set<ExportFormat> = []
        var usedAt: Moment

        var size: Int { collected.size + files.values.reduce(0) { $0 + $1.size } }
    }

    /// By account, in the order of their arrival.
    private var waiting: [User: [Waiting]] = [:]
    /// The revision that readers of a workout wait for.
    private var revisions: [SessionKey: Int64] = [:]
    private var collecting: Set<SessionKey> = []
    private var kept: [SessionKey: Kept] = [:]
    private var rates = RateTable<User, Moment>(burst: Self.burst, perSecond: Self.rate)

    /// Whether a client waits for a file of the workout.
    func wants(_ key: SessionKey) -> Bool { revisions[key] != nil }

    /// Takes a request. The same one again changes nothing.
    ///
    /// - Parameter revision: that of the workout.
    /// - Throws: if the account asks too often.
    mutating func ask(_ name: Name, _ reader: Reader, revision: Int64, _ now: Moment) throws(Refusal) {
        let user = name.key.user
        let others = waiting[user, default: []]
        let isRepeated = others.contains { $0.name == name && $0.reader == reader }
        guard rates.take(user, now), isRepeated || others.count < Self.waitingLimit else {
            throw .tooManyFiles
        }
        revisions[name.key] = revision
        if !isRepeated { waiting[user, default: []].append(Waiting(name: name, reader: reader)) }
    }

    /// Takes a collected workout.
    mutating func keep(_ collected: CollectedWork, _ now: Moment) {
        let key = collected.work.key
        collecting.remove(key)
        kept[key] = Kept(collected: collected, usedAt: now)
    }

    /// Takes a written file, unless its workout is no longer kept.
    mutating func take(_ file: WrittenFile) {
        guard kept[file.name.key]?.collected.work.workout == file.workout else { return }
        kept[file.name.key]?.writing.remove(file.name.format)
        kept[file.name.key]?.files[file.name.format] = file
    }

    /// The workout cannot be collected. Returns the steps that say so to its readers.
    mutating func fail(_ key: SessionKey, _ refusal: Refusal) -> [Step] {
        collecting.remove(key)
        revisions[key] = nil
        let readers = waiting[key.user, default: []].filter { $0.name.key == key }
        waiting[key.user]?.removeAll { $0.name.key == key }
        return readers.map { .refuse(key, $0.reader, refusal) }
    }

    /// Forgets a deleted workout. Returns the steps that say so to its readers.
    mutating func remove(_ key: SessionKey) -> [Step] {
        kept[key] = nil
        return fail(key, .noFile)
    }

    /// Forgets the workouts of lost shards. Their readers ask again.
    mutating func drop(where isLost: (SessionKey) -> Bool) {
        waiting = waiting.mapValues { $0.filter { !isLost($0.name.key) } }
        revisions = revisions.filter { !isLost($0.key) }
        collecting = collecting.filter { !isLost($0) }
        kept = kept.filter { !isLost($0.key) }
    }

    /// What to do now. A workout that is collected for another reason is not collected twice.
    mutating func steps(isCollecting: (SessionKey) -> Bool, _ now: Moment) -> [Step] {
        expire(now)
        var steps: [Step] = []
        var rest: [Waiting] = []
        var answers = 0
        for each in inTurn {
            let key = each.name.key
            guard let known = kept[key], known.collected.work.workout >= revisions[key] ?? 0 else {
                rest.append(each)
                let own = collecting.count { $0.user == key.user }
                if !isCollecting(key), own < Self.accountLimit, collecting.count < Self.collectingLimit,
                    collecting.insert(key).inserted
                {
                    steps.append(.collect(key))
                }
                continue
            }
            kept[key]?.usedAt = now
            guard let file = known.files[each.name.format] else {
                rest.append(each)
                let own = writing.count { $0 == key.user }
                if own < Self.accountLimit, writing.count < Self.writingLimit,
                    kept[key]?.writing.insert(each.name.format).inserted == true
                {
                    steps.append(.write(each.name, known.collected))
                }
                continue
            }
            guard answers < Self.answerLimit else {
                rest.append(each)
                continue
            }
            answers += 1
            steps.append(.answer(each.reader, file))
        }
        waiting = Dictionary(grouping: rest, by: \.name.key.user)
        let wanted = Set(rest.map(\.name.key))
        revisions = revisions.filter { wanted.contains($0.key) }
        return steps
    }

    /// The first of each account, then the second of each, and so on.
    private var inTurn: [Waiting] {
        let longest = waiting.values.map(\.count).max() ?? 0
        return (0..<longest).flatMap { turn in waiting.values.compactMap { $0.dropFirst(turn).first } }
    }

    /// The account of each file that is written.
    private var writing: [User] { kept.flatMap { entry in entry.value.writing.map { _ in entry.key.user } } }

    /// Removes workouts that were not used for a minute, and beyond the limits those that were used the longest ago.
    private mutating func expire(_ now: Moment) {
        func isIdle(_ key: SessionKey, _ entry: Kept) -> Bool { entry.writing.isEmpty && revisions[key] == nil }
        // Another attempt may succeed.
        for (key, entry) in kept where isIdle(key, entry) {
            kept[key]?.files = entry.files.filter { $0.value.size > 0 }
        }
        kept = kept.filter { key, entry in
            !isIdle(key, entry) || now.seconds(since: entry.usedAt) < Self.keptTime
        }
        var idle = kept.filter { isIdle($0.key, $0.value) }.sorted { $0.value.usedAt < $1.value.usedAt }[...]
        var size = kept.values.reduce(0) { $0 + $1.size }
        while let oldest = idle.popFirst(), size > Self.keptBytes || kept.count > Self.keptLimit {
            size -= oldest.value.size
            kept[oldest.key] = nil
        }
    }
}

extension Refusal {
    static let tooManyFiles = Refusal(
        code: "too_many_requests",
        message: "at most \(Int(FileRequests.rate)) requests for files a second; try again in 5 s", retryAfter: 5)

    /// The exporter does not know the workout, or not yet.
    static let noFile = Refusal(
        code: "session_not_found", message: "the exporter has no finished workout of this session")

    static func fileFailed(_ reason: String) -> Refusal { Refusal(code: "file_failed", message: reason) }
}
