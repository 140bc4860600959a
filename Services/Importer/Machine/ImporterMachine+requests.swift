import Bus
import MQTT
import ServiceKit
import Storage
import Workouts

/// Requests, time and retained statuses.
extension ImporterMachine {
    private static let sweepInterval = 1.0

    // MARK: Requests

    mutating func answerRequest(_ request: ImportRequest, of user: User, now: Moment) -> [ImporterAction] {
        if case .list(let before) = request.action {
            return [.answerList(user, .init(id: request.id, client: request.client, before: before))]
        }
        var (actions, refusal) = ([ImporterAction](), Refusal?.none)
        do throws(Refusal) {
            actions = try perform(request.action, user, now)
        } catch {
            refusal = error
        }
        let reply = Reply(id: request.id, revision: nil, now: now.wallClock, error: refusal)
        return actions + [.reply(user, request.client, reply)]
    }

    private mutating func perform(
        _ action: ImportRequest.Action, _ user: User, _ now: Moment
    ) throws(Refusal) -> [ImporterAction] {
        guard let id = action.id, let entry = entries[ImportKey(user, id)] else {
            throw Refusal(
                code: "import_not_found",
                message: "import not found, or over for more than an hour; upload the file again")
        }
        let (key, record) = (ImportKey(user, id), entry.record)
        switch action {
        case .log:
            if record.mayLog { return [] }
            guard record.status == .asking else { throw Self.wrong(record, "import and skip answer a question") }
            change(key) { ($0.mayLog, $0.match) = (true, nil) }
            return move(key, to: .logging, now: now)
        case .skip:
            if record.status == .done { return [] }
            guard record.status == .asking else { throw Self.wrong(record, "import and skip answer a question") }
            return move(key, to: .done, now: now)
        case .retry:
            guard record.status == .refused else { return [] }
            guard record.bytes <= Self.byteLimit else { throw .invalidState(Self.tooLarge(record.name, record.bytes)) }
            guard unfinished(user) < Self.unfinishedLimit else {
                throw .invalidState("\(Self.unfinishedLimit) files are not done yet; wait, or answer their questions")
            }
            return move(key, to: record.received < record.of ? .receiving : .reading, now: now)
        case .cancel:
            if record.status.isOver { return [] }
            if case .playing = entry.stage { throw Self.isLogging(record) }
            guard record.status != .logging else { throw Self.isLogging(record) }
            return refuse(key, "'\(record.name)' was canceled; upload it again to import it", now: now)
        case .list: return []
        }
    }

    private static func wrong(_ record: ImportRecord, _ hint: String) -> Refusal {
        .invalidState("'\(record.name)' is \(record.status.rawValue); \(hint)")
    }

    private static func isLogging(_ record: ImportRecord) -> Refusal {
        .invalidState("'\(record.name)' is being logged; delete its workout when it is done")
    }

    // MARK: Time

    /// Clears statuses an hour after the end, and ends imports without parts or answers. Sweeps once a second.
    mutating func advance(to now: Moment) -> [ImporterAction] {
        guard sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval }) ?? true else { return [] }
        sweptAt = now
        releaseHeld()
        var actions: [ImporterAction] = []
        for (key, entry) in entries {
            let (record, age) = (entry.record, now.seconds(since: entry.record.changedAt))
            switch record.status {
            case .done where age >= Self.lifetime, .refused where age >= Self.lifetime:
                evict(key)
                actions += [.archive(key, record), .publish(key)]
            case .receiving where age >= Self.partTimeout:
                actions += refuse(key, "'\(record.name)' came in part only; upload it again", now: now)
            case .asking where age >= Self.answerTimeout:
                actions += refuse(
                    key, "no answer came whether to import '\(record.name)'; upload it again to import it",
                    now: now)
            default: break
            }
        }
        return actions
    }

    /// Removes the imports that a user began before deleting everything.
    mutating func erase(_ user: User, before time: Timestamp) -> [ImporterAction] {
        let keys = entries.filter { $0.key.user == user && $0.value.record.beganAt.wallClock <= time }.keys.sorted()
        for key in keys {
            evict(key)
            parts[key] = nil
        }
        let others = entries.keys.filter { $0.user == user }.sorted()
        return [.eraseUser(user, time)] + others.map { .save($0) } + keys.map { .publish($0) }
    }

    // MARK: Retained statuses

    mutating func connected(now: Moment) -> [ImporterAction] {
        for (key, entry) in entries {
            var entry = entry
            entry.topic.reconnected()
            store(entry, key)
        }
        return announce(Set(Shard.all), now: now)
    }

    func announce(_ shards: Set<Shard>, now: Moment) -> [ImporterAction] {
        entries.keys.filter { shards.contains($0.user.shard) }.sorted().map { .publish($0) }
    }

    mutating func message(of key: ImportKey) -> MQTTMessage {
        let topic = Topic.user(key.user, .importStatus(key.id))
        guard var entry = entries[key] else { return topic.message([]) }
        entry.topic.published(entry.record.revision)
        store(entry, key)
        return topic.message(JSONCoding.encode(entry.record.status(of: key, progress: entry.progress)))
    }

    /// Takes a revision that arrives from the broker.
    mutating func see(_ revision: Int64, of key: ImportKey, now: Moment) -> [ImporterAction] {
        // The broker restored a cleared topic.
        guard var entry = entries[key] else { return [.publish(key)] }
        switch entry.topic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publish(key)]
        case .revised:
            entry.record.revision = entry.topic.revision
            store(entry, key)
            return [.save(key), .publish(key)]
        }
    }
}
