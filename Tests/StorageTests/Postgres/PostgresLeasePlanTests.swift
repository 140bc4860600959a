import TestSupport
import Testing
import Workouts

@testable import Storage

@Suite struct PostgresLeasePlanTests {
    private func rows(_ owners: [Int64?], freeFor: Duration = .zero, version: Int = 1) -> [PostgresLeasePlan.Row] {
        owners.enumerated().map { number, owner in
            PostgresLeasePlan.Row(shard: Shard(UInt8(number)), owner: owner, version: version, freeFor: freeFor)
        }
    }

    private func plan(
        _ rows: [PostgresLeasePlan.Row], members: [Int64: Bool], held: Set<Int> = [],
        of plan: OwnershipPlan = .balanced,
        mayRelease: Bool = true
    ) -> PostgresLeasePlan {
        PostgresLeasePlan(
            plan, me: 1, version: 1, held: Dictionary(uniqueKeysWithValues: held.map { (Shard(UInt8($0)), false) }),
            members: members.map { PostgresLeasePlan.Member(id: $0.key, isRecent: $0.value) }, rows: rows,
            mayRelease: mayRelease)
    }

    @Test func `a replica claims its share, and what stays free`() {
        let free = rows([nil, nil, nil, nil, nil])
        #expect(plan(free, members: [1: true]).claims.count == 5)
        #expect(plan(free, members: [1: true, 2: true]).claims.count == 3)
        // A hung member counts for no share.
        #expect(plan(free, members: [1: true, 2: false]).claims.count == 5)
        let late = plan(rows([nil, nil, nil, nil, nil], freeFor: .milliseconds(500)), members: [1: true, 2: true])
        #expect(late.claims.count == 5 && late.exceedsShare)
    }

    @Test func `a replica gives up its surplus unless it has just taken it`() {
        let all = rows([1, 1, 1, 1, 1])
        #expect(plan(all, members: [1: true, 2: true], held: [0, 1, 2, 3, 4]).surplus == [Shard(3), Shard(4)])
        #expect(plan(all, members: [1: true, 2: true], held: [0, 1, 2, 3, 4], mayRelease: false).surplus.isEmpty)
        #expect(plan(all, members: [1: true, 2: false], held: [0, 1, 2, 3, 4]).surplus.isEmpty)
        let fixed = OwnershipPlan.shards(Set(Shard.all))
        #expect(plan(all, members: [1: true, 2: true], held: [0, 1, 2, 3, 4], of: fixed).surplus.isEmpty)
    }

    @Test func `a single replica claims all shards, and nothing while another owns some`() {
        #expect(plan(rows([nil, nil, nil]), members: [1: true, 2: true], of: .single).claims.count == 3)
        let standby = plan(rows([2, nil, nil]), members: [1: true, 2: true], of: .single)
        #expect(standby.claims.isEmpty && standby.surplus.isEmpty && !standby.isPending)
        // Also while that one hangs; after its time it is gone, and its shards are pending.
        #expect(plan(rows([2, nil]), members: [1: true, 2: false], of: .single).claims.isEmpty)
        #expect(plan(rows([2, 2]), members: [1: true], of: .single).isPending)
        #expect(plan(rows([1, nil]), members: [1: true, 2: true], held: [0], of: .single).claims == [Shard(1)])
    }

    @Test func `of two single replicas with shards the one without the lowest gives up all its shards`() {
        let first = plan(rows([1, 2, 1]), members: [1: true, 2: true], held: [0, 2], of: .single)
        let second = plan(rows([2, 1, 1]), members: [1: true, 2: true], held: [1, 2], of: .single)
        #expect(first.surplus.isEmpty && second.surplus == [Shard(1), Shard(2)])
    }

    @Test func `a replica gives up nothing for replicas of an older program`() {
        func plan(_ others: [Int]) -> PostgresLeasePlan {
            let versions = [2] + others
            let members = versions.enumerated().map {
                PostgresLeasePlan.Member(id: Int64($0.offset + 1), isRecent: true, version: $0.element)
            }
            let held = Dictionary(uniqueKeysWithValues: (0..<6).map { (Shard(UInt8($0)), false) })
            return PostgresLeasePlan(
                .balanced, me: 1, version: 2, held: held, members: members,
                rows: rows([1, 1, 1, 1, 1, 1], version: 2))
        }
        #expect(plan([1]).surplus.isEmpty)
        #expect(plan([1, 2]).surplus.count == 3)
        #expect(plan([1, 3, 2]).surplus.count == 4)
    }

    @Test func `a replica without shards gets some of a newer one that has more than its share`() {
        // Two older ones have a fourth each.
        let plan = PostgresLeasePlan(
            .balanced, me: 1, version: 2, held: Dictionary(uniqueKeysWithValues: (0..<4).map { (Shard($0), false) }),
            members: [(1, 2), (2, 2), (3, 1), (4, 1)].map {
                PostgresLeasePlan.Member(id: $0.0, isRecent: true, version: $0.1)
            },
            rows: rows([1, 1, 1, 1, 3, 3, 4, 4]))
        #expect(plan.surplus == [Shard(2), Shard(3)])
    }

    @Test func `replicas of two versions that come and go come to rest, and each gets its share of what it may take`() {
        var random = SeededRandom()
        for _ in 0..<300 {
            var sharing = LeaseSharing()
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                sharing.change(using: &random)
                for _ in 0..<Int.random(in: 0...8, using: &random) { sharing.round(using: &random) }
            }
            var rounds = 0
            while sharing.round(using: &random) && rounds < 200 { rounds += 1 }
            #expect(rounds < 200 && sharing.owned.count == sharing.claimable)
            let share = (sharing.shards + sharing.versions.count - 1) / sharing.versions.count
            for (poor, version) in sharing.versions where !sharing.owned.values.contains(poor) {
                for (rich, other) in sharing.versions where other <= version {
                    #expect(sharing.owned.values.count { $0 == rich } <= share, "\(sharing)")
                }
            }
        }
    }

    @Test func `a replica claims no shard of a newer version and none outside its selection`() {
        #expect(plan(rows([nil, nil], version: 2), members: [1: true]).claims.isEmpty)
        #expect(plan(rows([nil, nil]), members: [1: true], of: .shards([Shard(1)])).claims == [Shard(1)])
    }

    @Test func `a shard that only the database assigns to the replica is released`() {
        let found = plan(rows([1, 1, 2]), members: [1: true, 2: true], held: [0])
        #expect(found.strays == [Shard(1)] && !found.isContradicted && !found.hasOrphans)
    }

    @Test func `a shard that only memory assigns to the replica ends its membership`() {
        #expect(plan(rows([1, 2]), members: [1: true, 2: true], held: [0, 1]).isContradicted)
        #expect(plan(rows([1]), members: [2: true], held: [0]).isContradicted)
    }

    @Test func `shards of members that are gone are pending`() {
        #expect(plan(rows([1, 3]), members: [1: true], held: [0]).isPending)
    }
}

/// The shards of members that look in turn, as the database has them.
private struct LeaseSharing {
    let shards = 24
    /// The members' programs.
    private(set) var versions: [Int64: Int] = [1: 1]
    private(set) var owned: [Shard: Int64] = [:]
    private var writers: [Shard: Int] = [:]
    private var released: [Shard: Int] = [:]
    private var releasing: [Int64: Set<Shard>] = [:]
    private var exceeded: [Int64: Int] = [:]
    private var next: Int64 = 2
    /// In rounds of half a second.
    private var now = 0

    /// How many shards no newer program wrote than the newest member's.
    var claimable: Int { shards - writers.values.count { $0 > versions.values.max()! } }

    /// A member joins or leaves.
    mutating func change(using random: inout SeededRandom) {
        if versions.count == 1 || versions.count < 6 && Bool.random(using: &random) {
            versions[next] = Int.random(in: 1...2, using: &random)
            next += 1
        } else if let member = versions.keys.sorted().randomElement(using: &random) {
            versions[member] = nil
            for shard in owned.filter({ $0.value == member }).keys { free(shard) }
        }
    }

    /// Each member looks once. Returns whether one changed something.
    @discardableResult mutating func round(using random: inout SeededRandom) -> Bool {
        now += 1
        var hasChanged = false
        for member in versions.keys.sorted().shuffled(using: &random) where look(as: member) { hasChanged = true }
        return hasChanged
    }

    private mutating func free(_ shard: Shard) {
        owned[shard] = nil
        released[shard] = now
    }

    private mutating func look(as member: Int64) -> Bool {
        let leaving = releasing.removeValue(forKey: member) ?? []
        for shard in leaving where owned[shard] == member { free(shard) }
        let version = versions[member]!
        let rows = (0..<shards).map { number in
            let shard = Shard(UInt8(number))
            return PostgresLeasePlan.Row(
                shard: shard, owner: owned[shard], version: writers[shard] ?? 1,
                freeFor: .milliseconds(500 * (now - (released[shard] ?? now))))
        }
        let plan = PostgresLeasePlan(
            .balanced, me: member, version: version,
            held: owned.filter { $0.value == member }.mapValues { _ in false },
            members: versions.map { PostgresLeasePlan.Member(id: $0.key, isRecent: true, version: $0.value) },
            rows: rows, mayRelease: now > (exceeded[member] ?? -10) + 6)
        for shard in plan.claims { (owned[shard], writers[shard]) = (member, version) }
        if plan.exceedsShare { exceeded[member] = now }
        releasing[member] = plan.surplus
        return !leaving.isEmpty || !plan.claims.isEmpty || !plan.surplus.isEmpty || now <= (exceeded[member] ?? -10) + 6
    }
}
