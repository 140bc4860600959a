import Bus
import Client
import ServiceKit
import Storage
import Workouts

/// What a reading found.
struct ReadFile {
    /// Of the unpacked content.
    let fingerprint: String
    /// Unpacked.
    let bytes: Int
    let workouts: [(start: Timestamp, end: Timestamp)]
    /// What people should know about the file.
    let remarks: [String]
    /// Of the workouts when the same content was imported before; `nil` if it was not.
    let generations: [Int]?
}

/// The comparison of a file with the workouts that are there: one request for each of its workouts.
struct Comparison {
    let generations: [Int]?
    var index = 0
    /// Whether each workout is there under its own session.
    var isThere: [Bool] = []
    var match: WorkoutOverview?
    var id: CommandID
    var request = RepeatedRequest(isConnected: true)
}

/// Before a file is logged, it is compared with the workouts that are there and with imports in progress.
extension ImporterMachine {
    /// Takes a file that was read for the first time.
    mutating func receiveFile(_ file: ReadFile, of key: ImportKey, now: Moment) -> [ImporterAction] {
        guard var entry = entries[key] else { return [] }
        quota.spend(file.bytes, of: key.user, in: key.user.shard, now)
        entry.record.fingerprint = file.fingerprint
        entry.record.remarks = file.remarks
        entry.record.workouts = file.workouts.enumerated().map { index, span in
            var workout = ImportRecord.Workout(start: span.start, end: span.end)
            if let generations = file.generations, index < generations.count { workout.generation = generations[index] }
            return workout
        }
        entry.stage = isHeld(entry, key) ? .held : .comparing(Comparison(generations: file.generations, id: newID()))
        store(entry, key)
        return takeQuotaChanges()
    }

    /// Whether an import of the user that may be the same workout is compared or logged now.
    private func isHeld(_ entry: Entry, _ key: ImportKey) -> Bool {
        entries(of: key.user).contains { otherKey, other in
            guard otherKey != key else { return false }
            switch (other.record.status, other.stage) {
            case (.logging, _), (.waiting, _), (_, .comparing): break
            default: return false
            }
            return other.record.fingerprint == entry.record.fingerprint
                || other.record.workouts.contains { workout in
                    entry.record.workouts.contains { $0.resembles(workout.start, workout.end) }
                }
        }
    }

    /// Reads those again that waited for another import: its workout may be there now.
    mutating func releaseHeld() {
        for (key, entry) in entries {
            guard case .held = entry.stage, !isHeld(entry, key) else { continue }
            set(.idle, of: key)
        }
    }

    /// The requests for history to send now.
    mutating func takeRequests(client: Client, now: Moment) -> [(User, UserRequest)] {
        var requests: [(User, UserRequest)] = []
        for (key, entry) in entries {
            guard case .comparing(var comparison) = entry.stage, comparison.index < entry.record.workouts.count,
                comparison.request.takeTurn(now)
            else { continue }
            let workout = entry.record.workouts[comparison.index]
            // The start of a workout that was trimmed is later.
            let query = HistoryQuery(from: workout.start - 60, to: workout.end + 60, limit: HistoryQuery.limit)
            requests.append((key.user, UserRequest(id: comparison.id, client: client, action: .workouts(query))))
            set(.comparing(comparison), of: key)
        }
        return requests
    }

    /// Takes the reply to a request for history.
    mutating func receiveReply(_ reply: Reply, of user: User, now: Moment) -> [ImporterAction] {
        let found = entries(of: user).first { _, entry in
            guard case .comparing(let comparison) = entry.stage else { return false }
            return comparison.id == reply.id
        }
        guard let (key, entry) = found, case .comparing(var comparison) = entry.stage else { return [] }
        switch comparison.request.receiveReply(reply.error, now) {
        case .postponed:
            set(.comparing(comparison), of: key)
            return []
        case .refused(let refusal):
            return refuse(key, "the workouts that are there cannot be read: \(refusal.message); send retry", now: now)
        case .accepted: break
        }
        let workout = entry.record.workouts[comparison.index]
        let session = entry.record.sessions(of: user)[comparison.index].key.session
        let overviews = reply.workouts ?? []
        comparison.isThere.append(overviews.contains { $0.session == session })
        if comparison.isThere.last == false, comparison.match == nil {
            comparison.match = overviews.first { workout.resembles($0.place.at, $0.endedAt ?? $0.place.at) }
        }
        comparison.index += 1
        comparison.id = newID()
        comparison.request = RepeatedRequest(isConnected: true)
        guard comparison.index == entry.record.workouts.count else {
            set(.comparing(comparison), of: key)
            return []
        }
        return decide(key, comparison, now)
    }

    private mutating func decide(_ key: ImportKey, _ comparison: Comparison, _ now: Moment) -> [ImporterAction] {
        change(key) { record in
            for (index, isThere) in comparison.isThere.enumerated() {
                record.workouts[index].isLogged = isThere
                // The user deleted it, and the engine takes no session twice.
                if !isThere, comparison.generations?.indices.contains(index) == true {
                    record.workouts[index].generation += 1
                }
            }
        }
        guard let record = entries[key]?.record else { return [] }
        if comparison.isThere.allSatisfy(\.self) { return move(key, to: .done, now: now) }
        if let match = comparison.match, !record.mayLog {
            change(key) { $0.match = match.session }
            let reason =
                "'\(record.name)' looks like '\(match.name)', a workout that is there: it began within a minute of it "
                + "and took about as long; import it all the same, or skip it"
            return move(key, to: .asking, reason: reason, now: now)
        }
        return move(key, to: .logging, now: now)
    }

    /// What each account used of its bytes, to be saved.
    mutating func takeQuotaChanges() -> [ImporterAction] {
        let changes = quota.changes
        quota.stored(changes)
        return changes.map { key, change in
            if case .put(_, let value) = change { .saveUse(key, value) } else { .saveUse(key, nil) }
        }
    }

    // MARK: Logging

    /// A workout of the file is finished.
    mutating func finish(_ index: Int, of key: ImportKey, now: Moment) -> [ImporterAction] {
        change(key) { $0.workouts[index].isLogged = true }
        guard let record = entries[key]?.record else { return [] }
        return record.workouts.allSatisfy(\.isLogged) ? move(key, to: .done, now: now) : [.save(key)]
    }

    /// A workout of the file is deleted: before this import, or while it was logged. It needs another id.
    mutating func lose(_ index: Int, of key: ImportKey, wasThere: Bool, now: Moment) -> [ImporterAction] {
        change(key) { $0.workouts[index].generation += 1 }
        if wasThere {
            set(.idle, of: key)
            return [.save(key)]
        }
        let name = entries[key]?.record.name ?? ""
        return [.saveContent(key)]
            + refuse(
                key, "the workout of '\(name)' was deleted while it was logged; send retry to log it again", now: now)
    }

    /// The session takes commands and items.
    mutating func showLogging(_ progress: Double, of key: ImportKey, now: Moment) -> [ImporterAction] {
        guard entries[key]?.record.status == .waiting else { return showProgress(progress, of: key, now: now) }
        let actions = move(key, to: .logging, now: now)
        set(.playing, of: key)
        return actions
    }
}
