import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

/// The service's one flow of events and the only place where effects happen.
struct SessionEngineLoop {
    let context: ServiceContext
    let store: any Store
    var machine: SessionEngineMachine
    var epochs: [Shard: Epoch] = [:]
    private var rejections = Rejections(service: "session-engine")
    /// What is still to be done; more than one batch's worth only while the disk refuses.
    var actions: [SessionEngineAction] = []
    /// Refused payloads that operators are to be told of.
    var rejected: [MQTTMessage] = []
    let metrics: SessionEngineMetrics
    /// The commits to it, with a disk left alone that refuses.
    var commits: StoreCommits

    /// - Parameter asksCoach: whether swaps and changes of difficulty are asked of an outside coach.
    init(context: ServiceContext, store: any Store, asksCoach: Bool = false, health: StoreHealth = StoreHealth()) {
        self.context = context
        self.store = store
        machine = SessionEngineMachine(asksCoach: asksCoach)
        commits = StoreCommits(store, health, context.logger, complaint: "sessions not saved, going on in memory")
        metrics = SessionEngineMetrics(context.metrics)
    }

    mutating func handle(_ event: ServiceEvent) async throws {
        let now = context.clock.now
        switch event {
        case .ownership(.gained(let gained)):
            epochs.merge(gained) { $1 }
            try await load(Set(gained.keys), now)
        case .ownership(.releasing(let shards)), .ownership(.lost(let shards)):
            for shard in shards { epochs[shard] = nil }
            machine.drop { shards.contains($0.shard) }
        case .announce(let shards):
            actions += machine.announce(shards)
            try await perform()
        case .connected:
            actions += machine.connected(now: now)
            try await perform()
        case .disconnected: machine.disconnected()
        case .batch(let batch):
            metrics.received(batch.messages.count)
            let incoming = batch.messages.map(Incoming.init)
            try await unarchive(incoming, now)
            for message in incoming { receive(message, now) }
            try await perform { batch.acknowledge() }
        case .tick:
            actions += machine.advance(to: now)
            metrics.show(machine.statusCounts)
            try await perform()
        }
    }

    private mutating func load(_ shards: Set<Shard>, _ now: Timestamp) async throws {
        var replies: [String: [CommandID: Reply]] = [:]
        for record in try await store.records(in: SessionRecord.replies, shards: shards) {
            guard let reply: Reply = await read(record, from: SessionRecord.replies) else { continue }
            let session = record.key.split(separator: "/").dropLast().joined(separator: "/")
            replies[session, default: [:]][reply.id] = reply
        }
        for record in try await store.records(in: SessionRecord.sessions, shards: shards) {
            guard let session: SessionRecord = await read(record, from: SessionRecord.sessions) else { continue }
            machine.load(session, replies: replies[record.key] ?? [:], now: now)
        }
        for record in try await store.records(in: SessionRecord.users, shards: shards) {
            guard let user = User(record.key), let stored: UserRecord = await read(record, from: SessionRecord.users)
            else { continue }
            machine.load(stored, of: user)
        }
        context.logger.info("sessions loaded", metadata: [LogKey.count: "\(machine.entries.count)"])
    }

    /// Brings back what the messages may change and is only in history.
    private mutating func unarchive(_ incoming: [Incoming], _ now: Timestamp) async throws {
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
        keys = keys.filter { machine.entries[$0] == nil && epochs[$0.user.shard] != nil }
        users = users.filter { epochs[$0.shard] != nil }
        var records: [StoreRecord] = []
        if !keys.isEmpty {
            let places = keys.sorted().map { StoreKey(shard: $0.user.shard, key: "\($0)") }
            records += try await store.records(in: SessionRecord.history, at: places)
        }
        if !users.isEmpty { records += try await history(of: users) }
        for record in records {
            guard let session: SessionRecord = await read(record, from: SessionRecord.history),
                machine.entries[session.session.key] == nil
            else { continue }
            machine.load(session, replies: [:], now: now)
            actions.append(.unarchive(session.session.key))
        }
        for user in users.sorted() { actions.append(.eraseCorrupt(user, try await corrupt(of: user))) }
    }

    /// What is in history of some users.
    func history(of users: Set<User>) async throws(StoreError) -> [StoreRecord] {
        let folders = users.sorted().map { StoreFolder(shard: $0.shard, path: "\($0)") }
        return try await store.records(in: SessionRecord.history, below: folders)
    }

    /// The keys of what was set aside of a user.
    private func corrupt(of user: User) async throws(StoreError) -> [String] {
        let folders = [SessionRecord.sessions, SessionRecord.history, SessionRecord.replies].map {
            StoreFolder(shard: user.shard, path: "\($0.name)/\(user)")
        }
        let below = try await store.records(in: SessionRecord.corrupt, below: folders)
        return below.map(\.key) + ["\(SessionRecord.users.name)/\(user)"]
    }

    /// The record's value; one that cannot be read is set aside.
    func read<Value: Decodable>(_ record: StoreRecord, from collection: StoreCollection) async -> Value? {
        do throws(PayloadError) {
            return try JSONCoding.decode(Value.self, from: record.value)
        } catch {
            await setAside(record, from: collection)
            return nil
        }
    }

    /// Keeps what cannot be read out of the way, for somebody to look at.
    private func setAside(_ record: StoreRecord, from collection: StoreCollection) async {
        context.logger.error("corrupt record set aside", metadata: [LogKey.record: "\(collection.name)/\(record.key)"])
        guard let epoch = epochs[record.shard] else { return }
        let writes = [
            StoreWrite(
                shard: record.shard, epoch: epoch, collection: SessionRecord.corrupt,
                change: .put(key: "\(collection.name)/\(record.key)", value: record.value)),
            StoreWrite(
                shard: record.shard, epoch: epoch, collection: collection, change: .delete(key: record.key)),
        ]
        do {
            _ = try await store.commit(writes)
        } catch {
            context.logger.error("cannot set a corrupt record aside", metadata: [LogKey.error: "\(error)"])
        }
    }

    private mutating func receive(_ incoming: Incoming, _ now: Timestamp) {
        let message = incoming.message
        guard let topic = incoming.topic else { return reject(message, "bad_topic", now) }
        do throws(PayloadError) {
            switch topic {
            case .session(let key, _) where epochs[key.user.shard] == nil: break
            case .user(let user, _) where epochs[user.shard] == nil: break
            case .session(let key, .command): receive(command: message, key, now)
            case .user(let user, .request): receive(incoming.request, message, user, now)
            case .presence("route-builder", let instance):
                machine.see(routeBuilder: instance, isOnline: try isOnline(message))
            case _ where message.payload.isEmpty: break
            case .session(let key, .summaryMetrics):
                let report = try JSONCoding.decode(MetricsReport.self, from: message.payload)
                actions += machine.receive(report, for: key, now: now)
            case .session(let key, .summaryRoute):
                let report = try JSONCoding.decode(RouteReport.self, from: message.payload)
                actions += machine.receive(report, for: key, now: now)
            case .session(let key, .weather):
                let weather = try JSONCoding.decode(Weather.self, from: message.payload)
                actions += machine.receive(weather, for: key, now: now)
            case .session(let key, .request):
                let request = try JSONCoding.decode(SessionRequest.self, from: message.payload)
                actions += machine.receive(request, for: key)
            case .session(let key, .metrics):
                actions += machine.hear(try MetricsProgress(message.payload), of: key, now: now)
            case .session(let key, .route):
                actions += machine.hear(try MetricsProgress(message.payload), .locations, of: key, now: now)
            case .session(let key, .state):
                actions += machine.seeState(try revision(message), of: key, now: now)
            case .session(let key, .workout):
                actions += machine.seeWorkout(try revision(message), of: key, now: now)
            case .user(let user, .current):
                actions += machine.seeCurrent(try revision(message), of: user, now: now)
            case .user(let user, .profile):
                actions += machine.seeProfile(try revision(message), of: user, now: now)
            case .user(let user, .plans):
                actions += machine.seePlans(try revision(message), of: user, now: now)
            case .user(let user, .coachReply):
                let reply = try JSONCoding.decode(CoachReply.self, from: message.payload)
                guard let error = reply.validationError else {
                    actions += machine.receive(reply, of: user, now: now)
                    break
                }
                // Whoever asked need not wait for what will not come.
                actions += machine.receive(CoachReply(id: reply.id, error: error), of: user, now: now)
                throw .malformed(error)
            default: break
            }
        } catch {
            reject(message, error.reason, now)
        }
    }

    private func isOnline(_ message: MQTTMessage) throws(PayloadError) -> Bool {
        guard !message.payload.isEmpty else { return false }
        return try JSONCoding.decode(SeenPresence.self, from: message.payload).status == .online
    }

    private func revision(_ message: MQTTMessage) throws(PayloadError) -> Int64 {
        try JSONCoding.decode(SeenRevision.self, from: message.payload).revision
    }

    private mutating func receive(
        _ request: Result<UserRequest, PayloadError>?, _ message: MQTTMessage, _ user: User, _ now: Timestamp
    ) {
        switch request {
        case .success(let request): actions += machine.receive(request, of: user, now: now)
        case .failure(let error):
            reject(message, error.reason, now)
            guard case .malformed(let text) = error, let envelope = envelope(message) else { return }
            let reply = Reply(id: envelope.id, revision: nil, now: now, error: .invalidCommand(text))
            actions.append(.reply(user, envelope.client, reply))
        case nil: break
        }
    }

    /// Whom to answer, when at least that much can be read.
    private func envelope(_ message: MQTTMessage) -> Command.Envelope? {
        try? JSONCoding.decode(Command.Envelope.self, from: message.payload)
    }

    private mutating func receive(command message: MQTTMessage, _ key: SessionKey, _ now: Timestamp) {
        do throws(PayloadError) {
            let command = try JSONCoding.decode(Command.self, from: message.payload)
            actions += machine.receive(command, for: key, now: now)
        } catch {
            reject(message, error.reason, now)
            // Whoever can be answered learns what was wrong.
            guard case .malformed(let text) = error, let envelope = envelope(message) else { return }
            actions.append(machine.refuse(envelope, for: key, .invalidCommand(text), now: now))
        }
    }

    private mutating func reject(_ message: MQTTMessage, _ reason: String, _ now: Timestamp) {
        metrics.rejected(reason)
        let told = rejections.reject(topic: message.topic, payload: message.payload, reason: reason, at: now)
        if let told { rejected.append(told) }
    }
}
