package import Bus
package import MQTT
package import Storage
package import Workouts

/// Commits the actions of a machine, then publishes.
///
/// A loop begins every event with ``begin(_:with:at:)``, does what is special in its service, adds its machine's actions,
/// and flushes. ``flush(_:at:)`` commits the writes of all pending actions, finishes the batch, then sends the messages of
/// these actions. So nothing is published or answered that is not on disk.
///
/// - **Order**: messages go out in the order of their actions. An action that is added again while it is pending counts once,
///   at its first place.
/// - **Failed writes**: after a failed commit, the next one follows at least a second later. ``Urgency`` decides what
///   happens to an action until then. ``finish(_:at:)``, at shutdown, ignores the backoff.
/// - **Batches**: a batch is finished after the commit, even if the commit failed. Clients repeat their
///   commands and registrations, and the next connection brings retained topics again. If the pending actions take more
///   than ``pendingLimit``, the batch waits for a commit that succeeds, and the client delivers no further batch until
///   then.
/// - **Ownership**: actions name their shard. The outbox takes none of a shard that this process does not own, and drops
///   those of a shard that it loses; see ``ShardWriter``.
package struct Outbox<Machine: OwningMachine> {
    private var writer: ShardWriter
    /// More than one event's actions only after a failed commit.
    package private(set) var actions: [Machine.Action] = []
    private var unfinished: MQTTBatch?
    private var failedAt: Moment?
    /// In bytes, with about 512 for each action.
    package var pendingLimit = 64 << 20

    /// Adds the check `store` to the context's readiness.
    package init(context: ServiceContext, store: any Store) {
        writer = ShardWriter(context: context, store: store)
    }

    // MARK: Events

    /// Applies the part of an event that is the same in all services. The loop adds the rest: it loads gained shards and
    /// receives messages.
    package mutating func begin(_ event: ServiceEvent, with machine: inout Machine, at now: Moment) {
        switch event {
        case .ownership(let change): apply(change, to: &machine)
        case .announce(let shards): add(machine.announce(shards, now: now))
        case .connected: add(machine.connected(now: now))
        case .disconnected: add(machine.disconnected(now: now))
        case .batch(let batch): unfinished = batch
        case .tick: add(machine.advance(to: now))
        }
    }

    // MARK: Ownership

    package var epochs: [Shard: Epoch] { writer.epochs }

    package func owns(_ shard: Shard) -> Bool { writer.owns(shard) }

    /// Takes over gained shards, and drops those that are lost or to be released.
    private mutating func apply(_ change: OwnershipChange, to machine: inout Machine) {
        switch change {
        case .gained(let gained): writer.gain(gained)
        case .releasing(let shards), .lost(let shards):
            writer.drop(shards)
            drop(shards, from: &machine)
        }
    }

    /// Drops what depends on shards that the writer has dropped.
    private mutating func drop(_ shards: Set<Shard>, from machine: inout Machine) {
        guard !shards.isEmpty else { return }
        actions.removeAll { $0.shard.map(shards.contains) ?? false }
        machine.drop(shards)
    }

    // MARK: Input

    package mutating func add(_ new: [Machine.Action]) {
        actions += new.filter { $0.shard.map(owns) ?? true }
    }

    /// Sends a message that depends on nothing in the store.
    package mutating func send(_ message: MQTTMessage, of shard: Shard) { writer.send(message, of: shard) }

    /// Publishes the refusal of a payload for operators and its user, within the limits of ``Rejections``.
    package mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, at now: Moment) {
        writer.reject(message, rejection, at: now)
    }

    // MARK: Output

    /// Whether no failed write is pending.
    package var isWriting: Bool { writer.isWriting }

    /// The last flush before the service stops. It ignores the backoff.
    @discardableResult
    package mutating func finish(_ machine: inout Machine, at now: Moment) async -> Flushed<Machine.Action> {
        failedAt = nil
        return await flush(&machine, at: now)
    }

    /// Commits what is pending, finishes the batch and publishes.
    @discardableResult
    package mutating func flush(_ machine: inout Machine, at now: Moment) async -> Flushed<Machine.Action> {
        actions = actions.uniqued()
        var flushed = Flushed<Machine.Action>(commit: await commit(&machine, now))
        let lost = writer.dropLost()
        drop(lost, from: &machine)
        flushed.lost.formUnion(lost)
        if flushed.isSaved {
            flushed.performed = actions
            actions = []
        } else {
            flushed.performed = actions.filter { $0.urgency == .now }
            actions.removeAll { $0.urgency != .afterCommit }
        }
        if flushed.isSaved || actions.count * 512 + machine.pendingBytes < pendingLimit {
            unfinished?.finish()
            unfinished = nil
        }
        for action in flushed.performed {
            for message in machine.messages(for: action) {
                if let shard = action.shard { writer.send(message, of: shard) } else { writer.send(message) }
            }
        }
        await writer.flush()
        return flushed
    }

    private mutating func commit(
        _ machine: inout Machine, _ now: Moment
    ) async -> Flushed<Machine.Action>.Commit {
        guard !actions.isEmpty else { return skip() }
        if let failedAt, now.seconds(since: failedAt) < 1 { return .failed(isNew: false) }
        let writes = actions.flatMap { action -> [StoreWrite] in
            guard let shard = action.shard, owns(shard) else { return [] }
            return machine.writes(for: action).compactMap { writer.write(shard, $0.collection, $0.change) }
        }
        guard !writes.isEmpty else { return skip() }
        switch await writer.commit(writes) {
        case .committed(let report, let took):
            failedAt = nil
            drop(report.lostShards, from: &machine)
            return .succeeded(writes: writes.count, took: took, lost: report.lostShards)
        case .refused(let isNew):
            failedAt = now
            return .failed(isNew: isNew)
        }
    }

    private mutating func skip() -> Flushed<Machine.Action>.Commit {
        failedAt = nil
        writer.endOutage()
        return .none
    }
}

/// The result of a flush.
package struct Flushed<Action: Sendable>: Sendable {
    package enum Commit: Sendable {
        /// There was nothing to write.
        case none
        case succeeded(writes: Int, took: Duration, lost: Set<Shard>)
        /// The pending writes wait. `isNew` when the commit before succeeded.
        case failed(isNew: Bool)
    }

    package let commit: Commit
    /// The actions that need nothing more of store and broker, in order. The loop performs what else belongs to them.
    package fileprivate(set) var performed: [Action] = []

    /// Shards that the commit or the store reported as lost.
    package fileprivate(set) var lost: Set<Shard>

    fileprivate init(commit: Commit) {
        self.commit = commit
        if case .succeeded(_, _, let lost) = commit { self.lost = lost } else { lost = [] }
    }

    /// Whether everything added before is on disk.
    package var isSaved: Bool {
        if case .failed = commit { false } else { true }
    }
}
