import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

extension SessionEngineLoop {
    mutating func load(_ shards: Set<Shard>, _ now: Moment) async throws {
        var replies: [String: [CommandID: Reply]] = [:]
        for record in try await store.records(in: SessionRecord.replies, shards: shards) {
            guard let reply: Reply = read(record, from: SessionRecord.replies) else { continue }
            let session = record.key.split(separator: "/").dropLast().joined(separator: "/")
            replies[session, default: [:]][reply.id] = reply
        }
        for record in try await store.records(in: SessionRecord.sessions, shards: shards) {
            guard let session: SessionRecord = read(record, from: SessionRecord.sessions) else { continue }
            machine.load(session, replies: replies[record.key] ?? [:], now: now)
        }
        for record in try await store.records(in: SessionRecord.users, shards: shards) {
            guard let user = User(record.key), let stored: UserRecord = read(record, from: SessionRecord.users)
            else { continue }
            machine.load(stored, of: user)
        }
        context.logger.info("sessions loaded", metadata: [LogKey.count: "\(machine.entries.count)"])
    }

    /// Loads the sessions that the messages may change and that only the history contains.
    mutating func unarchive(_ incoming: [Incoming], _ now: Moment) async throws {
        var keys: Set<SessionKey> = []
        var users: Set<User> = []
        for message in incoming {
            switch message.topic {
            case .session(let key, .command), .session(let key, .summaryMetrics),
                .session(let key, .summaryRoute), .session(let key, .state), .session(let key, .workout):
                if !message.payload.isEmpty { keys.insert(key) }
            case .session(let key, .request):
                let request = try? JSONCoding.decode(SessionRequest.self, from: message.payload)
                if request?.action == .chunks { keys.insert(key) }
            case .user(let user, .request):
                guard let request = try? message.request?.get(), !machine.hasAccepted(request, of: user) else { break }
                switch request.action {
                case .deleteWorkout(let session): keys.insert(SessionKey(user, session))
                case .deleteEverything: users.insert(user)
                case .setProfile, .workouts, .savePlan, .deletePlan: break
                }
            default: break
            }
        }
        let places = keys.filter { machine.entries[$0] == nil && outbox.owns($0.user.shard) }
            .sorted().map { StoreKey(shard: $0.user.shard, key: "\($0)") }
        users = users.filter { outbox.owns($0.shard) }
        var records = places.isEmpty ? [] : try await store.records(in: SessionRecord.history, at: places)
        if !users.isEmpty { records += try await history(of: users) }
        for record in records {
            guard let session: SessionRecord = read(record, from: SessionRecord.history),
                machine.entries[session.session.key] == nil
            else { continue }
            machine.load(session, replies: [:], now: now)
            outbox.add([.unarchive(session.session.key)])
        }
        for user in users.sorted() { outbox.add([.eraseCorrupt(user, try await corrupt(of: user))]) }
    }

    /// The reply to a request for history, from memory and from the store.
    mutating func history(_ page: UserRequest.Page, of user: User, _ now: Moment) async throws -> MQTTMessage {
        var history = machine.history(page, of: user)
        for record in try await self.history(of: [user]) {
            guard let archived: ArchivedWorkout = read(record, from: SessionRecord.history),
                let overview = archived.workout, machine.entries[SessionKey(user, overview.session)] == nil
            else { continue }
            history.take(overview)
        }
        return Topic.user(user, .replies(page.envelope.client)).message(JSONCoding.encode(history.reply(now)))
    }

    /// The records in history of some users.
    private func history(of users: Set<User>) async throws(StoreError) -> [StoreRecord] {
        let folders = users.sorted().map { StoreFolder(shard: $0.shard, path: "\($0)") }
        return try await store.records(in: SessionRecord.history, below: folders)
    }

    /// The keys of the user's corrupt records, stored and pending.
    private func corrupt(of user: User) async throws(StoreError) -> [String] {
        let folders = [SessionRecord.sessions, SessionRecord.history, SessionRecord.replies].map {
            StoreFolder(shard: user.shard, path: "\($0.name)/\(user)")
        }
        let stored = try await store.records(in: SessionRecord.corrupt, below: folders).map(\.key)
        let pending = outbox.actions.compactMap { action -> String? in
            guard case .setAside(_, let collection, let key, _) = action, key.hasPrefix("\(user)/") else { return nil }
            return "\(collection.name)/\(key)"
        }
        return stored + pending + ["\(SessionRecord.users.name)/\(user)"]
    }

    /// The record's value; sets aside a record that cannot be decoded, for an operator to examine.
    private mutating func read<Value: Decodable>(_ record: StoreRecord, from collection: StoreCollection) -> Value? {
        do throws(PayloadError) {
            return try JSONCoding.decode(Value.self, from: record.value, now: context.clock.moment)
        } catch {
            context.logger.error(
                "corrupt record set aside", metadata: [LogKey.record: "\(collection.name)/\(record.key)"])
            outbox.add([.setAside(record.shard, collection, key: record.key, value: record.value)])
            return nil
        }
    }
}
