import Logging
import ServiceKit
import Storage
import Synchronization
import Workouts

/// Writes changed records in the order of their changes, many in one commit.
///
/// After a failed commit it reports the failure to those who wait, keeps the changes and retries with a backoff.
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

    /// All records belong to one shard: one process serves all pages.
    static let shard = Shard(0)
    /// Seconds between a failed commit and the next.
    private static let backoff = 1.0
    private static let stopped = StoreError.notWritable("the service stops")

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

    func records(in collection: StoreCollection) async throws(StoreError) -> [StoreRecord] {
        try await store.records(in: collection, shards: [Self.shard])
    }

    /// Adds changes to the next commit. Callers change their own state under the same lock, so that both have one order.
    func enqueue(_ changes: [RecordChange]) {
        guard !changes.isEmpty else { return }
        state.withLock { state in
            for change in changes { state.changes[change.key] = change }
            state.enqueued += 1
        }
        wake.yield()
    }

    /// Returns when all changes enqueued before are on disk.
    /// - Throws: when the next commit fails. The changes stay and are retried.
    func committed() async throws(StoreError) {
        let result = await withCheckedContinuation { continuation in
            let known: Result<Void, StoreError>? = state.withLock { state in
                guard state.committed < state.enqueued else { return .success(()) }
                guard !state.isStopped else { return .failure(Self.stopped) }
                state.waiters.append((state.enqueued, continuation))
                return nil
            }
            if let known { continuation.resume(returning: known) }
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
            while let (changes, number) = take(), await commit(changes, number) {}
        }
        state.withLock { $0.isStopped = true }
        finish(upTo: .max, .failure(Self.stopped))
    }

    private func take() -> ([RecordChange], Int)? {
        state.withLock { state in
            guard state.epoch != nil, !state.changes.isEmpty else { return nil }
            defer { state.changes = [:] }
            return (Array(state.changes.values), state.enqueued)
        }
    }

    /// Whether the commit succeeded.
    private func commit(_ changes: [RecordChange], _ number: Int) async -> Bool {
        guard let epoch = state.withLock(\.epoch) else { return false }
        let writes = changes.map { change in
            StoreWrite(
                shard: Self.shard, epoch: epoch, collection: change.key.collection,
                change: change.value.map { .put(key: change.key.key, value: $0) } ?? .delete(key: change.key.key))
        }
        do throws(StoreError) {
            let report = try await store.commit(writes)
            guard report.lostShards.isEmpty else { throw .notWritable("another process owns the store") }
            state.withLock { $0.committed = max($0.committed, number) }
            finish(upTo: number, .success(()))
            return true
        } catch {
            logger.error("commit failed, retrying", metadata: [LogKey.error: "\(error)"])
            let now = clock.moment
            state.withLock { state in
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
