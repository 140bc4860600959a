import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

extension SessionEngineLoop {
    /// Does what is to be done: one commit, then the batch's acknowledgement, then everything that is sent.
    ///
    /// While the disk refuses the sessions go on in memory; replies are dropped, for clients repeat their commands, and
    /// everything else waits.
    mutating func perform(acknowledge: () -> Void = {}) async throws {
        let now = context.clock.now
        guard !commits.isResting(now) else {
            let messages = undelayed()
            keepForLater()
            acknowledge()
            return await context.send(messages + takeRejected())
        }
        let writes = writes()
        if !writes.isEmpty {
            let began = ContinuousClock.now
            switch await commits.commit(writes, now) {
            case .committed(let report):
                drop(report.lostShards)
                metrics.committed(writes.count, took: ContinuousClock.now - began)
            case .refused(let isNews):
                var messages = undelayed()
                // Once, for it goes on every second until somebody makes room.
                if isNews { messages += warnings(now) }
                keepForLater()
                acknowledge()
                return await context.send(messages + takeRejected())
            }
        }
        acknowledge()
        var sent: Set<SessionEngineAction> = []
        var messages: [MQTTMessage] = []
        for action in actions where sent.insert(action).inserted && isOwned(action) {
            messages += machine.messages(for: action)
            switch action {
            case .reply(_, _, let reply): metrics.answered(reply.error)
            case .archive(let key), .erase(let key): machine.forget(key)
            case .listWorkouts(let user, let page): messages.append(try await reply(user, page, now))
            default: break
            }
        }
        actions = []
        await context.send(messages + takeRejected())
    }

    /// What operators are to be told needs no disk, and does not pile up while it refuses.
    private mutating func takeRejected() -> [MQTTMessage] {
        defer { rejected = [] }
        return rejected
    }

    /// Answers a request for history from memory and from the store.
    private func reply(_ user: User, _ page: UserRequest.Page, _ now: Timestamp) async throws -> MQTTMessage {
        var history = machine.history(page, of: user)
        for record in try await self.history(of: [user]) {
            guard let archived: ArchivedWorkout = await read(record, from: SessionRecord.history),
                let overview = archived.workout, machine.entries[SessionKey(user, overview.session)] == nil
            else { continue }
            history.take(overview)
        }
        return Topic.user(user, .replies(page.envelope.client)).message(JSONCoding.encode(history.reply(now)))
    }

    /// What was asked of a shard that is lost by now is its new owner's to answer.
    private func isOwned(_ action: SessionEngineAction) -> Bool { epochs[action.user.shard] != nil }

    private func writes() -> [StoreWrite] {
        var seen: Set<SessionEngineAction> = []
        return actions.flatMap { action in seen.insert(action).inserted ? writes(action) : [] }
    }

    private func writes(_ action: SessionEngineAction) -> [StoreWrite] {
        let shard = action.user.shard
        guard let epoch = epochs[shard] else { return [] }
        func put(_ collection: StoreCollection, _ key: String, _ value: some Encodable) -> StoreWrite {
            StoreWrite(
                shard: shard, epoch: epoch, collection: collection,
                change: .put(key: key, value: JSONCoding.encode(value)))
        }
        func delete(_ collection: StoreCollection, _ key: String) -> StoreWrite {
            StoreWrite(shard: shard, epoch: epoch, collection: collection, change: .delete(key: key))
        }
        switch action {
        case .save(let key):
            return machine.entries[key].map { [put(SessionRecord.sessions, "\(key)", $0.record)] } ?? []
        case .saveReply(let key, let reply): return [put(SessionRecord.replies, "\(key)/\(reply.id)", reply)]
        case .saveUser(let user): return machine.users[user].map { [put(SessionRecord.users, "\(user)", $0)] } ?? []
        case .unarchive(let key):
            guard let record = machine.entries[key]?.record else { return [] }
            return [put(SessionRecord.sessions, "\(key)", record), delete(SessionRecord.history, "\(key)")]
        case .archive(let key):
            guard let entry = machine.entries[key] else { return [] }
            return [put(SessionRecord.history, "\(key)", entry.record), delete(SessionRecord.sessions, "\(key)")]
                + entry.replies.keys.map { delete(SessionRecord.replies, "\(key)/\($0)") }
        case .eraseReplies(let key, let ids): return ids.map { delete(SessionRecord.replies, "\(key)/\($0)") }
        case .eraseCorrupt(_, let keys): return keys.map { delete(SessionRecord.corrupt, $0) }
        case .erase(let key): return [delete(SessionRecord.sessions, "\(key)")]
        case .publishState, .publishWorkout, .publishCurrent, .publishProfile, .publishPlans, .askCoach, .clear,
            .announce,
            .reply, .listWorkouts:
            return []
        }
    }

    /// Another process owns these shards now: it has the truth.
    private mutating func drop(_ shards: Set<Shard>) {
        guard !shards.isEmpty else { return }
        context.logger.warning("shards lost", metadata: [LogKey.shards: "\(shards.sorted())"])
        for shard in shards { epochs[shard] = nil }
        machine.drop { shards.contains($0.shard) }
    }

    private mutating func keepForLater() {
        var seen: Set<SessionEngineAction> = []
        actions = actions.filter { action in
            switch action {
            case .reply, .announce, .askCoach, .listWorkouts: false
            default: seen.insert(action).inserted
            }
        }
    }

    /// What tells of nothing that has to be on disk: phases of a plan's clock, and questions to a coach.
    private mutating func undelayed() -> [MQTTMessage] {
        var messages: [MQTTMessage] = []
        for action in actions {
            switch action {
            case .askCoach: messages += machine.messages(for: action)
            case .announce(_, let announcement) where announcement.type == .interval:
                messages += machine.messages(for: action)
            default: break
            }
        }
        return messages
    }

    private func warnings(_ now: Timestamp) -> [MQTTMessage] {
        let keys = Set(
            actions.compactMap { action -> SessionKey? in
                if case .save(let key) = action { key } else { nil }
            })
        let warning = Announcement(
            .warning, at: now, text: "The workout goes on, but cannot be saved right now: the server's disk refuses.")
        return keys.sorted().map { Topic.session($0, .announcements).message(JSONCoding.encode(warning)) }
    }
}
