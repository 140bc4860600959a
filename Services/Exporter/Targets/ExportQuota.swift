import ServiceKit
import Storage
import Synchronization
import Workouts

/// The bytes of files and uploads that accounts may have in a day, for the loop and its deliveries, which run beside it.
final class ExportQuota: Sendable {
    private let quota: Mutex<DailyQuota>
    private let clock: any WallClock
    private let limits: Limits

    init(limit: Int, _ context: ServiceContext) {
        quota = Mutex(DailyQuota(limit: limit))
        clock = context.clock
        limits = context.limits
    }

    /// Refuses a delivery that exceeds the quota. The rest of the day's exports would be encoded in vain, so nothing remains for
    /// them.
    func refuse(_ key: SessionKey) -> Delivery {
        let now = clock.moment
        let limit = quota.withLock { quota in
            quota.spend(quota.available(to: key.user, now), of: key.user, in: key.session.shard, now)
            return quota.limit
        }
        limits.reached("export_bytes_per_day", by: key.user, at: now)
        return .failed(
            "today's exports would exceed \(limit / 1_000_000) MB, the limit of an account; they continue after 00:00 UTC",
            retryAfter: Double(DailyQuota.secondsLeft(now)))
    }

    func isUsedUp(by user: User) -> Bool { quota.withLock { $0.available(to: user, clock.moment) } == 0 }

    /// The highest use of an account.
    var highest: Int { quota.withLock { $0.highest } }

    func allowance(for key: SessionKey) -> ByteAllowance { ByteAllowance(self, key) }

    fileprivate func spend(_ count: Int, of key: SessionKey) -> Bool {
        quota.withLock { quota in
            let now = clock.moment
            guard quota.available(to: key.user, now) >= count else { return false }
            quota.spend(count, of: key.user, in: key.session.shard, now)
            return true
        }
    }

    fileprivate func giveBack(_ count: Int, of key: SessionKey) {
        quota.withLock { $0.spend(-count, of: key.user, in: key.session.shard, clock.moment) }
    }

    // MARK: The store

    func load(_ records: [StoreRecord]) {
        quota.withLock { $0.load(records, clock.moment) }
    }

    func isShareDue(_ now: Moment) -> Bool { quota.withLock { $0.isShareDue(now) } }

    func see(_ records: [StoreRecord]) {
        quota.withLock { $0.see(records, clock.moment) }
    }

    func drop(_ shards: Set<Shard>) {
        quota.withLock { $0.drop(shards) }
    }

    /// What to save. The outbox keeps it until a commit succeeds.
    func takeChanges() -> [ExportAction] {
        quota.withLock { quota in
            let changes = quota.changes
            quota.stored(changes)
            return changes.map { key, change in
                if case .put(_, let value) = change { .saveUse(key, value) } else { .saveUse(key, nil) }
            }
        }
    }
}

/// What one delivery writes of its account's bytes.
final class ByteAllowance: Sendable {
    private struct State {
        var written = 0
        var isExceeded = false
    }

    private let quota: ExportQuota
    private let key: SessionKey
    private let state = Mutex(State())

    init(_ quota: ExportQuota, _ key: SessionKey) {
        self.quota = quota
        self.key = key
    }

    /// Whether a file may grow by some bytes.
    @Sendable func spend(_ count: Int) -> Bool {
        state.withLock { state in
            state.isExceeded = state.isExceeded || !quota.spend(count, of: key)
            if !state.isExceeded { state.written += count }
            return !state.isExceeded
        }
    }

    /// Only bytes that the target has count. Returns what the delivery means for the export.
    func end(_ delivery: Delivery) -> Delivery {
        if case .delivered = delivery { return delivery }
        let state = state.withLock { $0 }
        quota.giveBack(state.written, of: key)
        return state.isExceeded ? quota.refuse(key) : delivery
    }
}
