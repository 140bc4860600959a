import Workouts

/// What the database confirmed to a replica: that it is a member, and its leases. A value; time is passed in.
///
/// A member's row fences all its writes: each commit raises the row's beat, and fails once the row is deleted. Other members
/// may delete it when the lease ends, 5 s after the last confirmed beat.
struct PostgresMembership {
    /// How long after the start of its last confirmed beat a replica drops its shards. The lease is a second longer.
    let lifetime: Duration

    struct Lease {
        let epoch: Epoch
        var isReleasing = false
        /// Whether the journal may contain entries of this member from before it lost the shard, which another owner moves.
        var isRegained = false
    }

    /// The member's number; `nil` while the replica is none.
    private(set) var member: Int64?
    private(set) var beat: Int64 = 0
    private(set) var confirmed = ContinuousClock.now
    private(set) var leases: [Shard: Lease] = [:]
    /// Shards that this member owned before.
    private var former: Set<Shard> = []
    /// The last number that a record of the journal got, over all memberships of this process.
    var sequence: Int64 = 0

    init(lease: Duration = .seconds(5)) {
        lifetime = lease - .seconds(1)
    }

    var deadline: ContinuousClock.Instant { confirmed + lifetime }

    mutating func join(_ member: Int64, startedAt start: ContinuousClock.Instant) {
        (self.member, beat, confirmed, leases, former) = (member, 0, start, [:], [])
    }

    /// A beat of this member is durable. Returns whether it is the current one; a late answer of a former member counts nothing.
    mutating func confirm(_ member: Int64, _ beat: Int64, startedAt start: ContinuousClock.Instant) -> Bool {
        guard self.member == member else { return false }
        (self.beat, confirmed) = (beat, start)
        return true
    }

    /// Ends the membership and returns the lost shards; `nil` if there was none.
    mutating func lose() -> Set<Shard>? {
        guard member != nil else { return nil }
        defer { (member, leases) = (nil, [:]) }
        return Set(leases.keys)
    }

    /// Ends the membership of a number, if it is still the current one.
    mutating func lose(_ member: Int64) -> Set<Shard>? { self.member == member ? lose() : nil }

    /// Ends the membership if its time is over.
    mutating func expire(at now: ContinuousClock.Instant) -> Set<Shard>? { now < deadline ? nil : lose() }

    func owns(_ shard: Shard, under epoch: Epoch) -> Bool { leases[shard]?.epoch == epoch }

    /// Takes claimed shards. Returns whether they count; those of a former member are void.
    mutating func gain(_ epochs: [Shard: Epoch], as member: Int64) -> Bool {
        guard self.member == member else { return false }
        for (shard, epoch) in epochs { leases[shard] = Lease(epoch: epoch, isRegained: former.contains(shard)) }
        return true
    }

    /// Marks shards that the service is to give up and returns those not marked before.
    mutating func release(_ shards: Set<Shard>) -> Set<Shard> {
        let new = shards.filter { leases[$0]?.isReleasing == false }
        for shard in new { leases[shard]?.isReleasing = true }
        return new
    }

    /// The service has given up shards. The confirmation may be late: of shards that were lost and gained again meanwhile it
    /// counts nothing.
    mutating func released(_ shards: Set<Shard>) {
        for shard in shards where leases[shard]?.isReleasing == true {
            leases[shard] = nil
            former.insert(shard)
        }
    }

    /// The journal contains nothing of these shards from before the present ownership.
    mutating func trimmed(_ shards: Set<Shard>) {
        for shard in shards { leases[shard]?.isRegained = false }
    }
}
