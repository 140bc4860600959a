import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

/// Daily quotas over days, restarts, hand-overs, failed commits and replicas.
struct DailyQuotaTests {
    private static let day = 86_400.0
    private let users = ["anna", "bob"].map { User($0)! }
    private let start = Timestamp(seconds: 20_000 * day)

    private func moment(_ seconds: Double) -> Moment {
        Moment(wallClock: start + seconds, uptime: .seconds(seconds))
    }

    @Test func `an account has its quota again at midnight UTC, and no other account uses it`() {
        var quota = DailyQuota(limit: 100)
        quota.spend(100, of: users[0], in: Shard(0), moment(10))
        #expect(quota.available(to: users[0], moment(Self.day - 1)) == 0)
        #expect(quota.available(to: users[1], moment(Self.day - 1)) == 100)
        #expect(DailyQuota.secondsLeft(moment(Self.day - 1)) == 1)
        #expect(DailyQuota.secondsLeft(moment(0)) == 86_400)
        #expect(quota.available(to: users[0], moment(Self.day)) == 100)
    }

    @Test func `what was not used after all counts on its day and in its shard alone`() {
        var quota = DailyQuota(limit: 100)
        quota.spend(60, of: users[0], in: Shard(0), moment(0))
        quota.spend(-50, of: users[0], in: Shard(0), moment(1))
        #expect(quota.available(to: users[0], moment(1)) == 90)
        quota.spend(-10, of: users[0], in: Shard(1), moment(1))
        #expect(quota.available(to: users[0], moment(1)) == 90)
        quota.spend(-10, of: users[0], in: Shard(0), moment(Self.day))
        #expect(quota.available(to: users[0], moment(Self.day)) == 100)
    }

    @Test func `records of earlier days are erased, corrupt ones too`() {
        var quota = DailyQuota(limit: 100)
        quota.load(
            [
                StoreRecord(shard: Shard(1), key: "anna", value: Array("19999 70".utf8)),
                StoreRecord(shard: Shard(2), key: "bob", value: Array("many".utf8)),
                StoreRecord(shard: Shard(3), key: "bob", value: Array("20000 40".utf8)),
            ], moment(0))
        #expect(quota.available(to: users[0], moment(0)) == 100)
        #expect(quota.available(to: users[1], moment(0)) == 60)
        let first = quota.changes
        #expect(
            first == [
                StoreKey(shard: Shard(1), key: "anna"): .delete(key: "anna"),
                StoreKey(shard: Shard(2), key: "bob"): .delete(key: "bob"),
            ])
        quota.stored(first)
        #expect(quota.changes.isEmpty)
        #expect(quota.available(to: users[1], moment(Self.day)) == 100)
        #expect(quota.changes == [StoreKey(shard: Shard(3), key: "bob"): .delete(key: "bob")])
    }

    @Test func `an impossible use counts as a corrupt record`() {
        var quota = DailyQuota(limit: 100)
        let records = (UInt8(0)..<2).map { shard in
            StoreRecord(shard: Shard(shard), key: "anna", value: Array("20000 \(Int.max)".utf8))
        }
        quota.load(records, moment(0))
        quota.see([StoreRecord(shard: Shard(2), key: "anna", value: Array("20000 -5".utf8))] + records, moment(0))
        #expect(quota.available(to: users[0], moment(0)) == 100)
    }

    @Test func `a gained shard counts once, before the other replicas' records are read again`() {
        var quota = DailyQuota(limit: 100)
        let record = StoreRecord(shard: Shard(3), key: "anna", value: Array("20000 60".utf8))
        quota.see([record], moment(0))
        #expect(quota.available(to: users[0], moment(0)) == 40)
        quota.load([record], moment(1))
        #expect(quota.available(to: users[0], moment(1)) == 40)
        quota.drop([Shard(3)])
        #expect(quota.available(to: users[0], moment(2)) == 100)
        quota.see([record], moment(60))
        #expect(quota.available(to: users[0], moment(60)) == 40)
    }

    /// Two replicas share the shards and a store. An account gets its quota and, for each restart and hand-over, at most a
    /// 4,096th of it for each shard; between two looks at each other's records, replicas may both use the rest.
    @Test func `no restart, hand-over or failed commit gives a new quota, and none takes any away`() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let limit = 4_096 * Int.random(in: 1...20, using: &random)
            let shards = (0..<4).map { Shard(UInt8($0)) }
            var store: [StoreKey: [UInt8]] = [:]
            var replicas = [DailyQuota(limit: limit), DailyQuota(limit: limit)]
            var owner = Dictionary(uniqueKeysWithValues: shards.map { ($0, 0) })
            var (used, forgotten) = ([User: Int](), 0)
            var (seconds, day) = (0.0, 0)
            func records(_ isIncluded: (Shard) -> Bool) -> [StoreRecord] {
                store.filter { isIncluded($0.key.shard) }
                    .map { StoreRecord(shard: $0.key.shard, key: $0.key.key, value: $0.value) }
            }
            for _ in 0..<300 {
                seconds += Double.random(in: 0..<600, using: &random)
                let now = moment(seconds)
                if Int(seconds / Self.day) > day { (used, forgotten, day) = ([:], 0, day + 1) }
                let shard = shards.randomElement(using: &random)!
                let (index, user) = (owner[shard]!, users.randomElement(using: &random)!)
                switch Int.random(in: 0..<10, using: &random) {
                case 0:
                    replicas[index] = DailyQuota(limit: limit)
                    replicas[index].load(records { owner[$0] == index }, now)
                    forgotten += shards.count * limit / 4_096
                case 1:
                    replicas[index].drop([shard])
                    owner[shard] = 1 - index
                    replicas[1 - index].load(records { $0 == shard }, now)
                    forgotten += limit / 4_096
                default:
                    // What the other replica stored since this one's last look may be used twice.
                    let sees = Bool.random(using: &random)
                    if sees { replicas[index].see(records { owner[$0] != index }, now) }
                    let available = replicas[index].available(to: user, now)
                    let rest = limit - used[user, default: 0]
                    #expect(available >= max(0, rest), "seed \(random.seed)")
                    let excess = forgotten + shards.count * limit / 4_096
                    #expect(!sees || available <= max(0, rest) + excess, "seed \(random.seed)")
                    let amount = Int.random(in: 0...max(1, limit / 20), using: &random)
                    guard sees, amount <= available else { break }
                    replicas[index].spend(amount, of: user, in: shard, now)
                    let changes = replicas[index].changes
                    if Bool.random(using: &random) {
                        // The commit failed: its items are sent again.
                        replicas[index].spend(-amount, of: user, in: shard, now)
                        break
                    }
                    used[user, default: 0] += amount
                    for (key, change) in changes {
                        if case .put(_, let value) = change { store[key] = value } else { store[key] = nil }
                    }
                    replicas[index].stored(changes)
                }
            }
        }
    }
}
