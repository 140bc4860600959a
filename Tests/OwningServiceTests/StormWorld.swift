import Bus
import MQTT
import Storage
import Synchronization
import TestSupport
import Workouts

/// Checks everything that a service writes to its store and sends on its bus.
final class StormWorld: Sendable {
    private struct State {
        var owned: Set<Shard> = []
        var isConnected = true
        var sent: [MQTTMessage] = []
        /// The newest revision of each retained topic that was published.
        var revisions: [String: Int64] = [:]
        var violations: Set<String> = []
    }

    private let state = Mutex(State())
    private let stored: @Sendable () throws -> StoredState
    private let shard: @Sendable (Topic) -> Shard?

    init(stored: @escaping @Sendable () throws -> StoredState, shard: @escaping @Sendable (Topic) -> Shard?) {
        self.stored = stored
        self.shard = shard
    }

    var violations: Set<String> { state.withLock(\.violations) }

    /// Removes and returns the sent messages.
    func take() -> [MQTTMessage] {
        state.withLock { state in
            defer { state.sent = [] }
            return state.sent
        }
    }

    /// The shards that the service believes to own.
    func own(_ shards: Set<Shard>) { state.withLock { $0.owned.formUnion(shards) } }
    func disown(_ shards: Set<Shard>) { state.withLock { $0.owned.subtract(shards) } }

    func connect(_ isConnected: Bool) { state.withLock { $0.isConnected = isConnected } }

    func check(_ writes: [StoreWrite]) {
        state.withLock { state in
            for write in writes where !state.owned.contains(write.shard) {
                state.violations.insert("writes to lost shard \(write.shard)")
            }
        }
    }

    private func check(_ message: MQTTMessage, _ disk: StoredState, _ state: inout State) throws {
        guard let topic = Topic(message.topic) else {
            state.violations.insert("unknown topic \(message.topic)")
            return
        }
        if let shard = shard(topic), !state.owned.contains(shard) {
            state.violations.insert("publishes \(message.topic) of a lost shard")
        }
        if case .user(_, .replies) = topic {
            let reply = try JSONCoding.decode(Reply.self, from: message.payload)
            if reply.ok, reply.workouts == nil, let accepted = disk.accepted, !accepted.contains(reply.id) {
                state.violations.insert("replies to \(reply.id) before the commit")
            }
        }
        // The revisions of partners are above those of earlier processes by a stored ceiling.
        if case .user(_, .partners) = topic { return }
        guard message.retain, !message.payload.isEmpty else { return }
        let revision = try JSONCoding.decode(SeenRevision.self, from: message.payload).revision
        if revision > disk.revisions[topic.name] ?? -1 {
            state.violations.insert("publishes \(message.topic) before the commit")
        }
        if revision < state.revisions[topic.name] ?? 0 {
            state.violations.insert("goes back on \(message.topic)")
        }
        state.revisions[topic.name] = max(revision, state.revisions[topic.name] ?? 0)
    }
}

extension StormWorld: MessageBus {
    func send(_ messages: [MQTTMessage]) async throws(MQTTError) {
        let isConnected = state.withLock { state in
            do {
                let disk = try stored()
                for message in messages { try check(message, disk, &state) }
            } catch {
                state.violations.insert("\(error)")
            }
            if state.isConnected { state.sent += messages }
            return state.isConnected
        }
        if !isConnected { throw .notConnected }
    }

    func publish(_ message: MQTTMessage) async throws(MQTTError) { try await send([message]) }

    func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R {
        try await body(AsyncStream { $0.finish() })
    }

    func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {}

    func stopReading() {}
}

/// A store that reports every write and every loss to the world.
struct StormStore: Store {
    let store: MemoryStore
    let world: StormWorld

    var ownership: AsyncStream<OwnershipChange> { store.ownership }

    func released(_ shards: Set<Shard>) async { await store.released(shards) }

    func close() async { await store.close() }

    func commit(_ writes: [StoreWrite]) async throws(StoreError) -> CommitReport {
        world.check(writes)
        let report = try await store.commit(writes)
        world.disown(report.lostShards)
        return report
    }

    func records(in collection: StoreCollection, shards: Set<Shard>) async throws(StoreError) -> [StoreRecord] {
        try await store.records(in: collection, shards: shards)
    }

    func records(in collection: StoreCollection, at keys: [StoreKey]) async throws(StoreError) -> [StoreRecord] {
        try await store.records(in: collection, at: keys)
    }

    func records(in collection: StoreCollection, below folders: [StoreFolder]) async throws(StoreError)
        -> [StoreRecord]
    {
        try await store.records(in: collection, below: folders)
    }

    func records(in collection: StoreCollection, of range: StoreRange, limit: Int) async throws(StoreError)
        -> [StoreRecord]
    {
        try await store.records(in: collection, of: range, limit: limit)
    }
}
