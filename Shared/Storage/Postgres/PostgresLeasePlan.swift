package import Workouts

/// Which shards a replica claims, releases and hands over, from one look at the database. A value without effects.
struct PostgresLeasePlan: Equatable {
    struct Member: Equatable {
        let id: Int64
        /// Whether it sent a beat lately. A hung member counts for no share.
        let isRecent: Bool
        /// The version of the store's format that the replica's program writes.
        var version = 1
        /// Whether others may end it.
        var isExpired = false
    }

    struct Row: Equatable {
        let shard: Shard
        let owner: Int64?
        let version: Int
        /// How long it has had no owner.
        let freeFor: Duration
    }

    /// How long a free shard is left to members that lack shards.
    static let reservation = Duration.milliseconds(500)

    /// The shards to claim.
    var claims: Set<Shard> = []
    /// Owned by this replica in the database and not in memory: to be released there, again until that is confirmed.
    var strays: Set<Shard> = []
    /// To be given up by the service, in favor of other members.
    var surplus: Set<Shard> = []
    /// Whether a claim exceeds the replica's share.
    var exceedsShare = false
    /// Whether shards in memory belong to another member: the database was restored or repaired.
    var isContradicted = false
    /// Whether members are to be ended, or shards belong to members that are gone.
    var hasOrphans = false

    /// - Parameters:
    ///   - held: the shards in memory, and whether the service is giving them up.
    ///   - mayRelease: whether the replica has not just taken more than its share.
    init(
        _ plan: OwnershipPlan, me: Int64, version: Int, held: [Shard: Bool], members: [Member], rows: [Row],
        mayRelease: Bool = true
    ) {
        let ids = Set(members.map(\.id))
        guard ids.contains(me) else {
            isContradicted = true
            return
        }
        let mine = Set(rows.filter { $0.owner == me }.map(\.shard))
        strays = mine.subtracting(held.keys)
        isContradicted = !mine.isSuperset(of: held.keys)
        hasOrphans =
            members.contains(where: \.isExpired) || rows.contains { $0.owner.map { !ids.contains($0) } ?? false }
        let free = rows.filter { $0.owner == nil && $0.version <= version }
        switch plan {
        case .shards(let shards): claims = Set(free.map(\.shard)).intersection(shards)
        case .single:
            // The owner of the lowest owned shard takes the rest. If there is none, the first to claim becomes it.
            let owner = rows.lazy.compactMap(\.owner).first { ids.contains($0) } ?? me
            if owner == me { claims = Set(free.map(\.shard)) } else { surplus = Set(held.keys) }
        case .balanced:
            let recent = members.count { $0.isRecent || $0.id == me }
            // An older program takes none of this replica's shards, so those who may share them evenly.
            let takers = Set(members.lazy.filter { $0.id == me || ($0.isRecent && $0.version >= version) }.map(\.id))
            let shared = free.count + rows.count { $0.owner.map(takers.contains) ?? false }
            let share = max(Self.share(of: rows.count, for: recent), Self.share(of: shared, for: takers.count))
            let sorted = free.sorted { $0.freeFor > $1.freeFor }
            let within = sorted.prefix(max(0, share - held.count))
            let beyond = sorted.dropFirst(within.count).filter { $0.freeFor >= Self.reservation }
            claims = Set((within + beyond).map(\.shard))
            exceedsShare = !beyond.isEmpty
            let keeps = held.filter { !$0.value }.keys.sorted()
            if mayRelease, claims.isEmpty { surplus = Set(keeps.dropFirst(share)) }
        }
    }

    private static func share(of shards: Int, for members: Int) -> Int { (shards + members - 1) / members }

    /// Whether the database has to change.
    var isPending: Bool { !claims.isEmpty || !strays.isEmpty || hasOrphans }
}

/// The shards that a replica is to own.
package enum OwnershipPlan: Hashable, Sendable {
    /// These, as far as no other replica owns them.
    case shards(Set<Shard>)
    /// An equal share of all.
    case balanced
    /// All, or none while another replica owns some.
    case single
}
