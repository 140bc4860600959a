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
    var machine = EngineMachine()
    var epochs: [Shard: Epoch] = [:]
    private var rejections = Rejections(service: "session-engine")
    /// What is still to be done; more than one batch's worth only while the disk refuses.
    var actions: [EngineAction] = []
    /// Refused payloads that operators are to be told of.
    var rejected: [MQTTMessage] = []
    /// When to try the disk again after it refused.
    var retryAt: Timestamp?

    init(context: ServiceContext, store: any Store) {
        self.context = context
        self.store = store
    }

    mutating func handle(_ event: ServiceEvent) async throws {
        let now = context.clock.now
        switch event {
        case .ownership(.gained(let shards, let epoch)):
            for shard in shards { epochs[shard] = epoch }
            try await load(shards, now)
        case .ownership(.lost(let shards)):
            for shard in shards { epochs[shard] = nil }
            machine.drop { shards.contains($0.user.shard) }
        case .connected:
            actions += machine.connected()
            try await perform()
        case .disconnected: break
        case .batch(let batch):
            for message in batch.messages { receive(message, now) }
            try await perform { batch.acknowledge() }
        case .tick:
            actions += machine.advance(to: now)
            try await perform()
        }
    }

    private mutating func load(_ shards: Set<Shard>, _ now: Timestamp) async throws {
        var replies: [String: [CommandID: Reply]] = [:]
        for record in try await store.records(in: SessionRecord.replies, shards: shards) {
            let session = record.key.split(separator: "/").dropLast().joined(separator: "/")
            guard let reply = try? JSONCoding.decode(Reply.self, from: record.value) else {
                await setAside(record, from: SessionRecord.replies)
                continue
            }
            replies[session, default: [:]][reply.id] = reply
        }
        for record in try await store.records(in: SessionRecord.sessions, shards: shards) {
            do {
                machine.load(
                    try JSONCoding.decode(SessionRecord.self, from: record.value), replies: replies[record.key] ?? [:],
                    now: now)
            } catch {
                await setAside(record, from: SessionRecord.sessions)
            }
        }
        context.logger.info("sessions loaded", metadata: ["count": "\(machine.entries.count)"])
    }

    /// Keeps what cannot be read out of the way, for somebody to look at.
    private func setAside(_ record: StoreRecord, from collection: StoreCollection) async {
        context.logger.error("corrupt record set aside", metadata: ["record": "\(collection.name)/\(record.key)"])
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
            context.logger.error("cannot set a corrupt record aside", metadata: ["error": "\(error)"])
        }
    }

    private mutating func receive(_ message: MQTTMessage, _ now: Timestamp) {
        guard let topic = Topic(message.topic) else { return reject(message, "bad_topic", now) }
        do throws(PayloadError) {
            switch topic {
            case .session(let key, _) where epochs[key.user.shard] == nil: break
            case .session(let key, .command): receive(command: message, key, now)
            case .session(let key, .summaryMetrics) where !message.payload.isEmpty:
                let report = try JSONCoding.decode(MetricsReport.self, from: message.payload)
                actions += machine.receive(report, for: key, now: now)
            case .session(let key, .state) where !message.payload.isEmpty:
                let seen = try JSONCoding.decode(Revision.self, from: message.payload)
                actions += machine.seeState(seen.revision, of: key, now: now)
            case .session(let key, .workout) where !message.payload.isEmpty:
                let seen = try JSONCoding.decode(Revision.self, from: message.payload)
                actions += machine.seeWorkout(seen.revision, of: key, now: now)
            case .user(let user, .current) where !message.payload.isEmpty:
                let seen = try JSONCoding.decode(Revision.self, from: message.payload)
                actions += machine.seeCurrent(seen.revision, of: user, now: now)
            default: break
            }
        } catch {
            reject(message, error.reason, now)
        }
    }

    private mutating func receive(command message: MQTTMessage, _ key: SessionKey, _ now: Timestamp) {
        do throws(PayloadError) {
            let command = try JSONCoding.decode(Command.self, from: message.payload)
            actions += machine.receive(command, for: key, now: now)
        } catch {
            reject(message, error.reason, now)
            // Whoever can be answered learns what was wrong.
            guard case .malformed(let text) = error,
                let envelope = try? JSONCoding.decode(Command.Envelope.self, from: message.payload)
            else { return }
            actions.append(machine.refuse(envelope, for: key, .invalidCommand(text), now: now))
        }
    }

    private mutating func reject(_ message: MQTTMessage, _ reason: String, _ now: Timestamp) {
        let told = rejections.reject(topic: message.topic, payload: message.payload, reason: reason, at: now)
        if let told { rejected.append(told) }
    }
}

/// What an owner reads of its own retained payloads.
private struct Revision: Decodable {
    let revision: Int64
}
