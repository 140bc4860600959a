import Bus
import MQTT
import Storage
import Synchronization
import TestSupport
import Workouts

/// Checks everything that a service writes to its store and sends on its bus.
final class StormWorld: Sendable {
    private struct State {
        var owned: [Shard: Epoch] = [:]
        /// Owned as far as the service knows; the store knows better.
        var silenced: Set<Shard> = []
        var isConnected = true
        var sent: [MQTTMessage] = []
        var violations: Set<String> = []
    }

    private let state = Mutex(State())
    private let stored: @Sendable () throws -> StoredState
    private let shard: @Sendable (Topic) -> Shard?
    private let revision: @Sendable (MQTTMessage) throws -> Int64
    private let isOwner: @Sendable (Shard, Epoch) throws -> Bool
    private let checksWrites: Bool
    private let published: PublishedRevisions

    /// - Parameters:
    ///   - published: shared by the replicas of a service.
    ///   - isOwner: whether the database confirms the epoch of a shard. Others may publish what is outdated.
    init<Service: StormService>(
        of service: Service.Type, _ disk: StormDisk, published: PublishedRevisions = PublishedRevisions(),
        isOwner: @escaping @Sendable (Shard, Epoch) throws -> Bool = { _, _ in true }
    ) {
        stored = { try Service.stored(disk) }
        shard = { Service.shard(of: $0) }
        revision = { try Service.revision(of: $0) }
        checksWrites = !Service.commitsInBackground
        self.published = published
        self.isOwner = isOwner
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
    func own(_ epochs: [Shard: Epoch]) { state.withLock { $0.owned.merge(epochs) { $1 } } }

    func disown(_ shards: Set<Shard>) {
        state.withLock { state in
            for shard in shards { state.owned[shard] = nil }
            state.silenced.subtract(shards)
        }
    }

    /// The store knows of the loss of shards, the service does not. It may try to write, and publishes nothing.
    func silence(_ shards: Set<Shard>) { state.withLock { $0.silenced.formUnion(shards) } }

    func connect(_ isConnected: Bool) { state.withLock { $0.isConnected = isConnected } }

    /// Checks writes that the store may still refuse: the service knows of no loss.
    func check(_ writes: [StoreWrite]) {
        guard checksWrites else { return }
        state.withLock { state in
            for write in writes where state.owned[write.shard] != write.epoch {
                state.violations.insert("writes to lost shard \(write.shard)")
            }
        }
    }

    /// The service receives that these shards are lost.
    func report(lost shards: Set<Shard>) {
        if checksWrites { disown(shards) }
    }

    private func check(_ message: MQTTMessage, _ disk: StoredState, _ state: inout State) throws {
        guard let topic = Topic(message.topic) else {
            state.violations.insert("unknown topic \(message.topic)")
            return
        }
        let shard = self.shard(topic)
        let epoch = shard.flatMap { state.owned[$0] }
        if let shard, epoch == nil || state.silenced.contains(shard) {
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
        let revision = try self.revision(message)
        let highest = disk.highest(topic)
        if revision > highest {
            state.violations.insert("publishes \(message.topic) \(revision) before the commit: \(highest) is stored")
        }
        var isCurrent = true
        if let shard, let epoch { isCurrent = try isOwner(shard, epoch) }
        if revision < published.raise(topic.name, revision), isCurrent {
            state.violations.insert("goes back on \(message.topic)")
        }
    }
}

/// The newest published revision of each retained topic.
final class PublishedRevisions: Sendable {
    private let revisions = Mutex<[String: Int64]>([:])

    /// Returns the newest revision, this one included.
    func raise(_ topic: String, _ revision: Int64) -> Int64 {
        revisions.withLock { revisions in
            let newest = max(revision, revisions[topic] ?? 0)
            revisions[topic] = newest
            return newest
        }
    }
}

extension StormWorld: MessageBus {
    func flush() async {}

    func send(_ messages: [MQTTMessage], while isCurrent: MessageCheck?) async throws(MQTTError) {
        let messages = messages.indices.filter { isCurrent?($0) ?? true }.map { messages[$0] }
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
    let store: any Store
    let world: StormWorld

    var ownership: AsyncStream<OwnershipChange> { store.ownership }

    func released(_ shards: Set<Shard>) async { await store.released(shards) }

    func owns(_ shard: Shard, under epoch: Epoch) -> Bool {
        let isOwned = store.owns(shard, under: epoch)
        if !isOwned { world.report(lost: [shard]) }
        return isOwned
    }

    func close() async { await store.close() }

    func commit(
        _ writes: [StoreWrite], trim: JournalTrim?, mayUseReserve: Bool
    ) async throws(StoreError) -> CommitReport {
        world.check(writes)
        let report = try await store.commit(writes, trim: trim, mayUseReserve: mayUseReserve)
        world.report(lost: report.lostShards)
        return report
    }

    func journal(of shards: Set<Shard>) async throws(StoreError) -> JournalTail { try await store.journal(of: shards) }

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

    func records(in collection: StoreCollection, of ranges: [StoreRange], limit: Int) async throws(StoreError)
        -> [StoreRecord]
    {
        try await store.records(in: collection, of: ranges, limit: limit)
    }
}
