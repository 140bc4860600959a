import Bus
import Logging
import ServiceKit
import Storage
import Synchronization
import Workouts

/// Writes changed records in the order of their changes, many in one commit.
///
/// After a failed commit it reports the failure to those who wait, keeps the changes and retries with a backoff. Without the
/// shard it drops changes: another replica has newer records.
final class RecordStore: Sendable {
    private struct State {
        var epoch: Epoch?
        /// The newest change of each record that is not committed.
        var changes: [RecordChange.Key: RecordChange] = [:]
        var enqueued = 0
        var committed = 0
        var isStopped = false
        /// The last commit failed then.
        var failed: Moment?
        var waiters: [(number: Int, continuation: CheckedContinuation<Result<Void, StoreError>, Never>)] = []
    }

    /// All records belong to one shard: its owner serves all pages, and other replicas stand by.
    static let shard = Shard(0)
    /// Seconds between a failed commit and the next.
    private static let backoff = 1.0
    private static let stopped = StoreError.notWritable("the service stops")
    private static let disowned = StoreError.notWritable("another process owns the store")

    private let store: any Store
    private let clock: any WallClock
    private let logger: Logger
    private let state = Mutex(State())
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init(store: any Store, clock: any WallClock, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The store's shards were gained. Commits begin.
    func own(_ epochs: [Shard: Epoch]) {
        guard let epoch = epochs[Self.shard] else { return }
        state.withLock { $0.epoch = epoch }
        wake.yield()
    }

    /// The shard was lost. What is not committed is void.
    func disown() {
        state.withLock { state in
            (state.epoch, state.changes, state.failed) = (nil, [:], nil)
            state.committed = state.enqueued
        }
        finish(upTo: .max, .failure(Self.disowned))
    }

    /// Whether this process owns the records.
    var isOwner: Bool { state.withLock { $0.epoch != nil } }

    /// The stored values by key. One that cannot be read is logged and left out.
    func values<Value: Decodable>(
        _ type: Value.Type, in collection: StoreCollection
    ) async throws(StoreError) -> [(key: String, value: Value)] {
        let now = clock.moment
        return try await store.records(in: collection, shards: [Self.shard]).compactMap { stored in
            do {
                return (stored.key, try JSONCoding.decode(Value.self, from: stored.value, now: now))
            } catch {
                logger.error(
                    "stored record unreadable, dropped",
                    metadata: [LogKey.record: "\(stored.key)", LogKey.error: "\(error)"])
                return nil
            }
        }
    }

    /// Adds changes to the next commit. Callers change their own state under the same lock, so that both have one order.
    func enqueue(_ changes: [RecordChange]) {
        guard !changes.isEmpty else { return }
        state.withLock { state in
            guard state.epoch != nil else { return }
            for change in changes { state.changes[change.key] = change }
            state.enqueued += 1
        }
        wake.yield()
    }

    /// Returns when all changes enqueued before are on disk.
    /// After a failed commit the next one begins at once.
    /// - Throws: when the next commit fails. The changes stay and are retried.
    func committed() async throws(StoreError) {
        let result = await withCheckedContinuation { continuation in
            var isRetry = false
            let known: Result<Void, StoreError>? = state.withLock { state in
                guard state.epoch != nil else { return .failure(Self.disowned) }
                guard state.committed < state.enqueued else { return .success(()) }
                guard !state.isStopped else { return .failure(Self.stopped) }
                state.waiters.append((state.enqueued, continuation))
                isRetry = state.failed.take() != nil
                return nil
            }
            if let known { continuation.resume(returning: known) }
            // The last commit failed. There may be no other change, and no tick while the loop ends.
            if isRetry { wake.yield() }
        }
        try result.get()
    }

    /// Commits what is enqueued, then ends ``run()``. Later changes are not written.
    func stop() { wake.finish() }

    /// Retries after a failed commit.
    func tick(_ now: Moment) {
        let isDue = state.withLock { state in
            guard let failed = state.failed, now.seconds(since: failed) >= Self.backoff else { return false }
            state.failed = nil
            return true
        }
        if isDue { wake.yield() }
    }

    func run() async throws {
        for await _ in wakes {
            while let (changes, number, epoch) = take(), await commit(changes, number, epoch) {}
        }
        state.withLock { $0.isStopped = true }
        finish(upTo: .max, .failure(Self.stopped))
    }

    private func take() -> ([RecordChange], Int, Epoch)? {
        state.withLock { state in
            guard let epoch = state.epoch, !state.changes.isEmpty else { return nil }
            defer { state.changes = [:] }
            return (Array(state.changes.values), state.enqueued, epoch)
        }
    }

    /// Whether the commit succeeded.
    private func commit(_ changes: [RecordChange], _ number: Int, _ epoch: Epoch) async -> Bool {
        let writes = changes.map { change in
            StoreWrite(
                shard: Self.shard, epoch: epoch, collection: change.key.collection,
                change: change.value.map { .put(key: change.key.key, value: $0) } ?? .delete(key: change.key.key))
        }
        do throws(StoreError) {
            let report = try await store.commit(writes)
            guard report.lostShards.isEmpty else { throw Self.disowned }
            state.withLock { $0.committed = max($0.committed, number) }
            finish(upTo: number, .success(()))
            return true
        } catch {
            // A canceled commit is no failure of the store.
            if !Task.isCancelled { logger.error("commit failed, retrying", metadata: [LogKey.error: "\(error)"]) }
            let now = clock.moment
            state.withLock { state in
                guard state.epoch == epoch else { return }
                state.failed = now
                for change in changes where state.changes[change.key] == nil { state.changes[change.key] = change }
            }
            finish(upTo: number, .failure(error))
            return false
        }
    }

    private func finish(upTo number: Int, _ result: Result<Void, StoreError>) {
        let waiters = state.withLock { state in
            let done = state.waiters.filter { $0.number <= number }
            state.waiters.removeAll { $0.number <= number }
            return done
        }
        for waiter in waiters { waiter.continuation.resume(returning: result) }
    }
}
