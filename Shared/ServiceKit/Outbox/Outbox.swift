package import Bus
import Logging
package import MQTT
package import Storage
package import Workouts

/// The one way in which services write: commit, acknowledge, publish.
///
/// A loop adds its machine's actions and flushes after every event. ``flush(_:at:acknowledging:)`` commits the writes of all
/// pending actions, acknowledges the batch, then sends the messages of these actions. So nothing is published or answered
/// that is not on disk.
///
/// - **Order**: messages go out in the order of their actions. An action that is added again while it is pending counts once,
///   at its first place.
/// - **Failed writes**: after a failed commit, the next one follows at least a second later. ``Urgency`` decides what
///   happens to an action until then. When commits begin to fail, the outbox logs one line and changes the readiness of
///   `store`; it does so again when they succeed. ``finish(_:at:)``, at shutdown, ignores the backoff.
/// - **Acknowledgement**: a batch is acknowledged after the commit, even if the commit failed. Clients repeat their
///   commands and registrations, and the next connection brings retained topics again. If the pending actions take more
///   than ``pendingLimit``, the batch waits for a commit that succeeds, and the client reads no further batch until
///   then.
/// - **Ownership**: actions and messages name their shard. The outbox takes none of a shard that this process does not
///   own. It drops those of a shard that this process loses, even if the commit itself or the store reports the loss.
///   The client asks the store again before it writes a message.
/// - **Rejections** and other messages that depend on nothing in the store go out with the next flush.
package struct Outbox<Machine: OwningMachine> {
    private let context: ServiceContext
    private let store: any Store
    private let health = StoreHealth()
    private var rejections: Rejections
    package private(set) var epochs: [Shard: Epoch] = [:]
    /// More than one event's actions only after a failed commit.
    package private(set) var actions: [Machine.Action] = []
    private var messages: [(shard: Shard?, message: MQTTMessage)] = []
    private var unacknowledged: MQTTBatch?
    private var failedAt: Moment?
    /// In bytes, with about 512 for each action.
    package var pendingLimit = 64 << 20

    /// Adds the check `store` to the context's readiness.
    package init(context: ServiceContext, store: any Store) {
        self.context = context
        self.store = store
        rejections = Rejections(service: context.configuration.name)
        context.readiness.addCheck("store") { [health] in health.isWriting }
    }

    // MARK: Ownership

    package func owns(_ shard: Shard) -> Bool { epochs[shard] != nil }

    /// Takes over gained shards, and drops those that are lost or to be released.
    package mutating func apply(_ change: OwnershipChange, to machine: inout Machine) {
        switch change {
        case .gained(let gained): epochs.merge(gained) { $1 }
        case .releasing(let shards), .lost(let shards): drop(shards, from: &machine)
        }
    }

    private mutating func drop(_ shards: Set<Shard>, from machine: inout Machine) {
        guard !shards.isEmpty else { return }
        for shard in shards { epochs[shard] = nil }
        actions.removeAll { $0.shard.map(shards.contains) ?? false }
        messages.removeAll { $0.shard.map(shards.contains) ?? false }
        machine.drop(shards)
    }

    // MARK: Input

    package mutating func add(_ new: [Machine.Action]) {
        actions += new.filter { $0.shard.map(owns) ?? true }
    }

    /// Sends a message that depends on nothing in the store.
    package mutating func send(_ message: MQTTMessage, of shard: Shard) {
        if owns(shard) { messages.append((shard, message)) }
    }

    /// Publishes the refusal of a payload for operators and its user, within the limits of ``Rejections``.
    package mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, at now: Moment) {
        for report in rejections.reject(message, rejection, at: now) { messages.append((nil, report)) }
    }

    // MARK: Output

    /// Whether no failed write is pending.
    package var isWriting: Bool { health.isWriting }

    /// The last flush before the service stops. It ignores the backoff.
    @discardableResult
    package mutating func finish(_ machine: inout Machine, at now: Moment) async -> Flushed<Machine.Action> {
        failedAt = nil
        return await flush(&machine, at: now)
    }

    /// Commits, acknowledges and publishes what is pending.
    @discardableResult
    package mutating func flush(
        _ machine: inout Machine, at now: Moment, acknowledging batch: MQTTBatch? = nil
    ) async -> Flushed<Machine.Action> {
        actions = actions.uniqued()
        var flushed = Flushed<Machine.Action>(commit: await commit(&machine, now))
        // The store may have lost shards that the loop has not handled yet.
        let lost = store.lost(of: epochs)
        drop(lost, from: &machine)
        flushed.lost.formUnion(lost)
        if flushed.isSaved {
            flushed.performed = actions
            actions = []
        } else {
            flushed.performed = actions.filter { $0.urgency == .now }
            actions.removeAll { $0.urgency != .afterCommit }
        }
        if let batch { unacknowledged = batch }
        if flushed.isSaved || actions.count * 512 + machine.pendingBytes < pendingLimit {
            unacknowledged?.acknowledge()
            unacknowledged = nil
        }
        var outgoing = messages.map { OwnedMessage($0.message, of: $0.shard, epochs) }
        messages = []
        for action in flushed.performed {
            outgoing += machine.messages(for: action).map { OwnedMessage($0, of: action.shard, epochs) }
        }
        await context.send(outgoing, of: store)
        return flushed
    }

    private mutating func commit(
        _ machine: inout Machine, _ now: Moment
    ) async -> Flushed<Machine.Action>.Commit {
        guard !actions.isEmpty else { return skip() }
        if let failedAt, now.seconds(since: failedAt) < 1 { return .failed(isNew: false) }
        let writes = actions.flatMap { action -> [StoreWrite] in
            guard let shard = action.shard, let epoch = epochs[shard] else { return [] }
            return machine.writes(for: action).map {
                StoreWrite(shard: shard, epoch: epoch, collection: $0.collection, change: $0.change)
            }
        }
        guard !writes.isEmpty else { return skip() }
        let began = ContinuousClock.now
        do throws(StoreError) {
            let report = try await store.commit(writes)
            failedAt = nil
            if health.note(true) { context.logger.notice("commits succeed again") }
            if !report.lostShards.isEmpty {
                context.logger.warning("shards lost", metadata: [LogKey.shards: "\(report.lostShards.sorted())"])
            }
            drop(report.lostShards, from: &machine)
            return .succeeded(writes: writes.count, took: ContinuousClock.now - began, lost: report.lostShards)
        } catch {
            failedAt = now
            let isNew = health.note(false)
            if isNew { context.logger.error("commit failed, retrying", metadata: [LogKey.error: "\(error)"]) }
            return .failed(isNew: isNew)
        }
    }

    /// After a loss of shards nothing may be pending, and no commit would ever end the outage. So it ends here; the
    /// next commit shows whether the store works.
    private mutating func skip() -> Flushed<Machine.Action>.Commit {
        failedAt = nil
        if health.note(true) {
            context.logger.notice("store usable again; pending writes belonged to shards that moved away")
        }
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
