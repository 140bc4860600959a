package import Bus
import CoreMetrics
import Logging
package import MQTT
package import Storage
import Timing
package import Workouts

/// The one place where services commit, and send what follows from it.
///
/// It has the epochs of the shards that this process owns. Writes and messages name their shard. They have no effect if this
/// process does not own it, or loses it before: the store checks each write, and the client asks the store before it sends a
/// message.
///
/// When commits begin to fail, it logs one line and changes the readiness of `store`; it does so again when they succeed.
package struct ShardWriter {
    private let context: ServiceContext
    private let store: any Store
    private let health = StoreHealth()
    private let failures: Counter
    private var rejections: Rejections
    package private(set) var epochs: [Shard: Epoch] = [:]
    private var messages: [OwnedMessage] = []

    private static let failures = "pacebus_commit_failures_total"

    /// Adds the check `store` to the context's readiness.
    package init(context: ServiceContext, store: any Store) {
        self.context = context
        self.store = store
        rejections = Rejections(service: context.configuration.name, logger: context.logger)
        context.metrics.describe([Self.failures: "Commits that the store refused."])
        failures = Counter(label: Self.failures, factory: context.metrics)
        context.readiness.addCheck("store") { [health] in health.isWriting }
    }

    // MARK: Ownership

    package func owns(_ shard: Shard) -> Bool { epochs[shard] != nil }

    package mutating func gain(_ gained: [Shard: Epoch]) { epochs.merge(gained) { $1 } }

    /// Drops shards and the messages about them.
    package mutating func drop(_ shards: Set<Shard>) {
        guard !shards.isEmpty else { return }
        for shard in shards { epochs[shard] = nil }
        messages.removeAll { $0.owner.map { shards.contains($0.shard) } ?? false }
    }

    /// Drops the shards that the store has lost and the service's loop has not handled yet, and returns them.
    package mutating func dropLost() -> Set<Shard> {
        let lost = store.lost(of: epochs)
        drop(lost)
        return lost
    }

    // MARK: Commits

    /// Whether no failed write is pending.
    package var isWriting: Bool { health.isWriting }

    /// A write under the shard's epoch; `nil` if this process does not own the shard.
    package func write(_ shard: Shard, _ collection: StoreCollection, _ change: StoreWrite.Change) -> StoreWrite? {
        epochs[shard].map { StoreWrite(shard: shard, epoch: $0, collection: collection, change: change) }
    }

    /// Commits, and drops the shards whose writes the store left out because another process owns them.
    ///
    /// - Parameters:
    ///   - trim: what leaves the journal.
    ///   - mayUseReserve: whether it may take the disk space that is kept for what frees more.
    package mutating func commit(
        _ writes: [StoreWrite], trim: JournalTrim? = nil, mayUseReserve: Bool = false
    ) async -> WriteOutcome {
        let begun = ContinuousClock.now
        do throws(StoreError) {
            let report = try await store.commit(writes, trim: trim, mayUseReserve: mayUseReserve)
            if health.note(true) { context.logger.notice("commits succeed again") }
            if !report.lostShards.isEmpty {
                context.logger.warning("shards lost", metadata: [LogKey.shards: "\(report.lostShards.sorted())"])
            }
            drop(report.lostShards)
            return .committed(report, took: ContinuousClock.now - begun)
        } catch {
            failures.increment()
            let isNew = health.note(false)
            // Logged once, because commits of items fail many times a second while a disk is full.
            if isNew { context.logger.error("commit failed, retrying", metadata: [LogKey.error: "\(error)"]) }
            return .refused(isNew: isNew)
        }
    }

    /// Ends an outage of which no write is left, as after a loss of shards: the next commit shows whether the store works.
    package func endOutage() {
        guard health.note(true) else { return }
        context.logger.notice("store usable again; pending writes belonged to shards that moved away")
    }

    // MARK: Messages

    /// Sends a message about a shard with the next ``flush()``.
    package mutating func send(_ message: MQTTMessage, of shard: Shard) {
        if owns(shard) { messages.append(OwnedMessage(message, of: shard, epochs)) }
    }

    /// Sends a message that depends on nothing in the store.
    package mutating func send(_ message: MQTTMessage) { messages.append(OwnedMessage(message, of: nil, epochs)) }

    /// Publishes the refusal of a payload for operators and its user, within the limits of ``Rejections``.
    package mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, at now: Moment) {
        for report in rejections.reject(message, rejection, at: now) { send(report) }
    }

    package var hasMessages: Bool { !messages.isEmpty }

    /// Sends all messages in their order. Those of a lost connection are not sent again: the next one publishes retained topics,
    /// and clients repeat what is not answered.
    package mutating func flush() async {
        let outgoing = messages
        messages = []
        await context.send(outgoing, of: store)
    }
}

package enum WriteOutcome: Sendable {
    case committed(CommitReport, took: Duration)
    /// Nothing is written. `isNew` when the commit before succeeded.
    case refused(isNew: Bool)
}
