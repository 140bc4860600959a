import Synchronization
import Workouts

/// What the threads of a store share: settings, the membership, and the stream of its changes.
final class PostgresReplica: Sendable {
    let address: PostgresAddress
    let schema: StoreSchema
    let plan: OwnershipPlan
    /// How long the replica is a member after its last beat.
    let lease: Duration
    let ownership: AsyncStream<OwnershipChange>
    private let changes: AsyncStream<OwnershipChange>.Continuation
    private let membership: Mutex<PostgresMembership>

    init(_ address: PostgresAddress, _ schema: StoreSchema, _ plan: OwnershipPlan, lease: Duration) {
        (self.address, self.schema, self.plan, self.lease) = (address, schema, plan, lease)
        membership = Mutex(PostgresMembership(lease: lease))
        (ownership, changes) = AsyncStream.makeStream()
    }

    func connect() throws(PostgresFailure) -> PostgresConnection {
        try PostgresConnection(address, service: schema.service)
    }

    /// Reads or changes the membership. Changes of ownership are published in the order of the mutations.
    func withMembership<R>(
        _ body: (inout PostgresMembership, (OwnershipChange) -> Void) -> R
    ) -> R {
        membership.withLock { membership in body(&membership) { change in _ = changes.yield(change) } }
    }

    /// Drops all shards of a member: another replica may own them now.
    func lose(_ member: Int64) {
        withMembership { membership, publish in
            if let shards = membership.lose(member), !shards.isEmpty { publish(.lost(shards)) }
        }
    }

    /// Drops all shards if the database has confirmed no beat in time.
    func expire() {
        withMembership { membership, publish in
            if let shards = membership.expire(at: .now), !shards.isEmpty { publish(.lost(shards)) }
        }
    }

    /// Gives up all shards and returns the member that it was.
    func end() -> Int64? {
        let member = withMembership { membership, _ in
            let member = membership.member
            _ = membership.lose()
            return member
        }
        changes.finish()
        return member
    }

    /// Calls ``expire()`` five times a second until the jobs are closed. On a thread of its own, because the others may wait for the
    /// database.
    func watch(_ jobs: PostgresJobs<Void>) {
        while true {
            if case .closed = jobs.next(until: .now + .milliseconds(200)) { return }
            expire()
        }
    }
}
