import Bus
import Client
import MQTT
import ServiceKit
import Storage
import Timing
import Workouts

/// What the service counts.
struct RunCounts: Equatable {
    var partners = 0
    var prompts = 0
    var corrupt = 0
    /// Seconds by which outputs since the last look were late.
    var lags: [Double] = []
}

extension VirtualRunMachine {
    private static let sweepInterval = 1.0
    /// Seconds between two stored live curves of a run.
    private static let curveInterval = 30.0

    /// Advances to `now`: new snapshots, deadlines, views; once a second also what concerns all runs.
    mutating func advance(to now: Moment) -> [VirtualRunAction] {
        var due = touched
        touched = []
        while let id = takeDue(now) { due.insert(id) }
        var actions: [VirtualRunAction] = []
        for id in due.sorted() { actions += settle(id, now) }
        actions += sweep(now)
        return actions + reviseDue(now)
    }

    private mutating func settle(_ id: RunID, _ now: Moment) -> [VirtualRunAction] {
        var actions: [VirtualRunAction] = []
        if let passable, passable <= now, let due = entries[id]?.run.due, due <= now {
            actions += (try? change(id, now) { run throws(Refusal) in run.advance(to: now) }) ?? []
        }
        if let due = entries[id]?.live.due, due <= now { counts.lags.append(max(0, now.seconds(since: due))) }
        return actions + advanceLive(id, now)
    }

    private mutating func sweep(_ now: Moment) -> [VirtualRunAction] {
        guard sweptAt.map({ now.seconds(since: $0) >= Self.sweepInterval }) ?? true else { return [] }
        sweptAt = now
        var actions = advanceCreations(now) + collect(now)
        for id in entries.keys.sorted() {
            guard let entry = entries[id] else { continue }
            if isExpired(entry.run, now) {
                actions += purge(id)
            } else if isAtRest(entry) {
                actions.append(.evict(id))
            } else if entry.run.status.isOver {
                actions += clearViews(id, now)
            } else if entry.run.status == .running, isStale(entry, now) {
                entries[id]?.curvesAt = now
                actions.append(.saveCurves(id))
            }
        }
        for user in rates.keys where rates[user]?.available(now) == Int(RunLimit.requestBurst) { rates[user] = nil }
        return actions
    }

    private func isStale(_ entry: Entry, _ now: Moment) -> Bool {
        entry.curvesAt.map { now.seconds(since: $0) >= Self.curveInterval } ?? true
    }

    func isExpired(_ run: Run, _ now: Moment) -> Bool {
        now.wallClock.seconds(since: run.overAt ?? run.createdAt) >= RunRecord.lifetime
    }

    /// Whether nothing happens in the run any more without a request or a later record.
    func isAtRest(_ entry: Entry) -> Bool {
        entry.run.status.isOver && entry.record.views.values.allSatisfy(\.isCleared) && entry.pendingViews.isEmpty
            && entry.run.sessionKeys.isDisjoint(with: collector.wanted)
    }

    /// Removes everything of a run.
    mutating func purge(_ id: RunID) -> [VirtualRunAction] {
        guard let entry = entries[id] else { return [] }
        let users = entry.record.views.filter { !$0.value.isCleared }.keys.sorted()
        evict(id)
        return [.erase(id)] + users.map { .publishView(id, $0) }
            + entry.listings.sorted { $0.key < $1.key }.map { .unlist($0.key, $0.value) }
    }
}

extension VirtualRunMachine: OwningMachine {
    func writes(for action: VirtualRunAction) -> [PendingWrite] {
        switch action {
        case .save(let id):
            guard let entry = entries[id] else { return [] }
            var record = entry.record
            record.live = entry.live.stored
            return [.put(RunRecord.runs, id, record)]
        case .saveCurves(let id):
            guard let entry = entries[id] else { return [] }
            return [.put(RunRecord.curves, id, entry.live.curves)]
        case .saveFinal(let id, let runner):
            let key = "\(id)/\(runner)"
            guard let final = entries[id]?.finals[runner] else { return [.delete(RunRecord.finals, key)] }
            return [.put(RunRecord.finals, key, final)]
        case .erase(let id):
            guard entries[id] == nil else { return [] }
            return [.delete(RunRecord.runs, id), .delete(RunRecord.curves, id), .deleteFolder(RunRecord.finals, id)]
        case .list(let user, let id):
            guard let listing = entries[id]?.listings[user] else { return [] }
            return [.put(RunRecord.listings, listing.key(user), listing)]
        case .unlist(let user, let listing): return [.delete(RunRecord.listings, listing.key(user))]
        case .savePerson(let user):
            guard let person = people[user] else { return [] }
            return [.put(RunRecord.people, user, person)]
        case .saveReply(_, let user, let id):
            guard let stored = replies[user]?.first(where: { $0.reply.id == id }) else { return [] }
            return [.put(RunRecord.replies, "\(user)/\(id)", stored.reply)]
        case .eraseReplies(_, let user, let ids): return ids.map { .delete(RunRecord.replies, "\(user)/\($0)") }
        case .saveKey(let bytes):
            return [PendingWrite(RunRecord.keys, .put(key: RunRecord.hidingKey.key, value: bytes))]
        case .publishView, .publishPeople, .announce, .reply, .listRuns, .request, .limited, .evict: return []
        }
    }

    mutating func messages(for action: VirtualRunAction) -> [MQTTMessage] {
        switch action {
        case .publishView(let id, let user): return [viewMessage(id, user)]
        case .publishPeople(let user): return [peopleMessage(user)]
        case .announce(let id, let user, let cue):
            return [Topic.user(user, .virtualRunAnnouncements(id)).message(JSONCoding.encode(cue))]
        case .reply(_, let user, let client?, let reply):
            return [Topic.user(user, .replies(client)).message(JSONCoding.encode(reply))]
        case .evict(let id):
            if let entry = entries[id], isAtRest(entry) { evict(id) }
            return []
        case .save, .saveCurves, .saveFinal, .erase, .list, .unlist, .savePerson, .saveReply, .eraseReplies, .saveKey,
            .reply, .listRuns, .request, .limited:
            return []
        }
    }

    mutating func drop(_ shards: Set<Shard>) {
        for id in entries.keys where shards.contains(id.shard) { evict(id) }
        creations = creations.filter { !shards.contains($0.key.shard) }
        people = people.filter { !shards.contains($0.key.shard) }
        for user in replies.keys {
            replies[user]?.removeAll { shards.contains($0.shard) }
            if replies[user]?.isEmpty ?? false { replies[user] = nil }
        }
    }
}
