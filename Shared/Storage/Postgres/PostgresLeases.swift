import Foundation
import Workouts

/// The replica's part in sharing the shards: joins the members, claims free shards, ends members whose time is over. On a
/// thread and a connection of their own.
///
/// Whether a member's time is over is decided by the database's clock alone, and never whether a write counts.
final class PostgresLeases {
    private static let interval = Duration.milliseconds(500)
    private static let timeout = Duration.seconds(4)
    /// How long a replica that took more than its share keeps the surplus.
    private static let calm = Duration.seconds(3)

    private let replica: PostgresReplica
    private let jobs: PostgresJobs<Void>
    private var connection: PostgresConnection?
    private var exceeded: ContinuousClock.Instant?
    /// A former membership, to be ended before the next one.
    private var former: Int64?

    init(_ replica: PostgresReplica, _ jobs: PostgresJobs<Void>) {
        (self.replica, self.jobs) = (replica, jobs)
    }

    /// Creates or migrates the tables, joins and claims. The first change of ownership follows from it.
    func open() throws(StoreError) {
        do {
            let connection = try connect()
            try PostgresSchema(replica.schema).prepare(on: connection)
            let member = try join()
            // Another replica may be claiming.
            for _ in 0..<20 {
                if try look(as: member) { break }
                Thread.sleep(forTimeInterval: 0.025)
            }
        } catch let error as StoreError {
            throw error
        } catch let error as PostgresFailure {
            throw .notReadable("\(replica.address): \(error.text)")
        } catch {
            throw .notReadable("\(replica.address): \(error)")
        }
        replica.withMembership { membership, publish in
            // Nothing to claim: the first change is a gain nevertheless.
            if membership.leases.isEmpty { publish(.gained([:])) }
        }
    }

    /// Works until the jobs are closed, then gives up everything.
    func run() {
        var isClosed = false
        while !isClosed {
            let deadline = ContinuousClock.now + Self.interval
            switch jobs.next(until: deadline, socket: connection?.socket) {
            case .job, .none: round(until: deadline)
            case .closed: isClosed = true
            }
        }
        leave()
    }

    private func round(until deadline: ContinuousClock.Instant) {
        do {
            try connect().takeNotifications()
            let member = replica.withMembership { membership, _ in membership.member }
            _ = try look(as: member ?? join())
        } catch {
            // Another connection looks again after the interval; leases need none meanwhile.
            connection = nil
            Thread.sleep(forTimeInterval: 0.1)
        }
    }

    private func connect() throws(PostgresFailure) -> PostgresConnection {
        if let connection { return connection }
        let new = try replica.connect()
        _ = try run(PostgresStatement("LISTEN \(replica.schema.channel)", isPrepared: false), on: new)
        connection = new
        return new
    }

    private func run(_ statements: [PostgresStatement]) throws(PostgresFailure) -> [PostgresResult] {
        let connection = try connect()
        let results = try connection.run(statements, until: .now + Self.timeout)
        // A membership or an epoch that no standby has may be another's after a failover.
        guard !connection.hasWarned else { throw .broken("no standby confirmed the commit") }
        return results
    }

    private func run(
        _ statement: PostgresStatement, on connection: PostgresConnection
    ) throws(PostgresFailure) -> PostgresResult {
        try connection.run(statement, until: .now + Self.timeout)
    }

    // MARK: Membership

    private func join() throws(PostgresFailure) -> Int64 {
        let start = ContinuousClock.now
        let results = try run([
            // One that a hung commit still locks ends by its time.
            PostgresStatement(
                "DELETE FROM member WHERE id IN (SELECT id FROM member WHERE id = $1 FOR UPDATE SKIP LOCKED)",
                PostgresValue.int8(former ?? 0)),
            PostgresStatement(
                """
                INSERT INTO member (beat, expires_at, version)
                VALUES (0, clock_timestamp() + $2::int8 * interval '1 s', $1) RETURNING id
                """, PostgresValue.int4(Int32(replica.schema.version)),
                PostgresValue.int8(replica.lease.components.seconds)),
        ])
        let member = results[1].integer(0, 0)
        former = member
        replica.withMembership { membership, _ in membership.join(member, startedAt: start) }
        return member
    }

    private func leave() {
        guard let member = replica.end() else { return }
        let statements = [
            PostgresStatement(
                "UPDATE lease SET owner = NULL, free_since = clock_timestamp() WHERE owner = $1",
                PostgresValue.int8(member)),
            PostgresStatement("DELETE FROM member WHERE id = $1", PostgresValue.int8(member)), notify,
        ]
        // The connection may be lost; without a second one the shards are free after 5 s.
        if (try? run(statements)) == nil {
            connection = nil
            _ = try? run(statements)
        }
        connection = nil
    }

    // MARK: Shards

    private var notify: PostgresStatement {
        PostgresStatement("SELECT pg_notify($1, '')", PostgresValue.text(replica.schema.service))
    }

    /// Compares the database with what the replica holds, and changes what the plan says. Returns whether the plan is done;
    /// not while another replica changes the leases.
    private func look(as member: Int64) throws(PostgresFailure) -> Bool {
        let plan = try makePlan(member, run(view)[...])
        if plan.isContradicted {
            replica.lose(member)
            return true
        }
        if plan.isPending {
            do {
                guard try change(as: member) else { return false }
            } catch .refused(let state, let text) {
                _ = try run([PostgresStatement("ROLLBACK", isPrepared: false)])
                throw .refused(state: state, text: text)
            }
        }
        replica.withMembership { [surplus = plan.surplus] membership, publish in
            let new = membership.release(surplus)
            if !new.isEmpty { publish(.releasing(new)) }
        }
        return true
    }

    /// What ``makePlan(_:_:)`` reads: members, then leases.
    private var view: [PostgresStatement] {
        [
            PostgresStatement(
                // One without a beat for 2 s may hang.
                """
                SELECT id, expires_at > clock_timestamp() + ($1::int8 - 2) * interval '1 s', expires_at < clock_timestamp(),
                    version FROM member
                """, PostgresValue.int8(replica.lease.components.seconds)),
            PostgresStatement(
                """
                SELECT shard, owner, version,
                    coalesce(extract(epoch FROM clock_timestamp() - free_since) * 1000, 0)::bigint FROM lease ORDER BY shard
                """),
        ]
    }

    private func makePlan(_ member: Int64, _ results: ArraySlice<PostgresResult>) -> PostgresLeasePlan {
        let (memberRows, leaseRows) = (results[results.startIndex], results[results.startIndex + 1])
        let members = (0..<memberRows.count).map {
            PostgresLeasePlan.Member(
                id: memberRows.integer($0, 0), isRecent: memberRows.flag($0, 1),
                version: Int(memberRows.integer($0, 3)), isExpired: memberRows.flag($0, 2))
        }
        let rows = (0..<leaseRows.count).map { row in
            PostgresLeasePlan.Row(
                shard: leaseRows.shard(row, 0), owner: leaseRows.isNull(row, 1) ? nil : leaseRows.integer(row, 1),
                version: Int(leaseRows.integer(row, 2)), freeFor: .milliseconds(leaseRows.integer(row, 3)))
        }
        let held = replica.withMembership { membership, _ in
            membership.member == member ? membership.leases.mapValues(\.isReleasing) : [:]
        }
        return PostgresLeasePlan(
            replica.plan, me: member, version: replica.schema.version, held: held, members: members, rows: rows,
            mayRelease: exceeded.map { $0 + Self.calm < .now } ?? true)
    }

    /// Ends members whose time is over, releases strays and claims, in one transaction that one replica at a time makes.
    private func change(as member: Int64) throws(PostgresFailure) -> Bool {
        let locked = try run(
            [
                PostgresStatement("BEGIN", isPrepared: false),
                PostgresStatement(
                    "SELECT pg_try_advisory_xact_lock($1, hashtext($2))", PostgresValue.int4(PostgresSchema.leaseLock),
                    PostgresValue.text(replica.schema.service)),
            ])
        guard locked[1].flag(0, 0) else {
            _ = try run([PostgresStatement("ROLLBACK", isPrepared: false)])
            return false
        }
        let results = try run(Self.expiry + view)
        let plan = makePlan(member, results.suffix(2))
        let changes = try run(
            [
                // Locks the row, so that no one ends this member before the claim counts.
                PostgresStatement(
                    "SELECT 1 / count(*) FROM (SELECT FROM member WHERE id = $1 FOR KEY SHARE) AS own",
                    PostgresValue.int8(member)),
                PostgresStatement(
                    """
                    UPDATE lease SET owner = NULL, free_since = clock_timestamp()
                    WHERE owner = $1 AND shard = ANY ($2::int2[])
                    """, PostgresValue.int8(member), PostgresValue.int2s(plan.strays.map(\.value))),
                PostgresStatement(
                    """
                    UPDATE lease SET owner = $1, epoch = epoch + 1, version = $2, free_since = NULL
                    WHERE owner IS NULL AND version <= $2 AND shard = ANY ($3::int2[]) RETURNING shard, epoch
                    """, PostgresValue.int8(member), PostgresValue.int4(Int32(replica.schema.version)),
                    PostgresValue.int2s(plan.claims.map(\.value))),
                notify, PostgresStatement("COMMIT", isPrepared: false),
            ])
        take(changes[2], as: member)
        if plan.exceedsShare { exceeded = .now }
        return true
    }

    private func take(_ claimed: PostgresResult, as member: Int64) {
        let epochs = Dictionary(
            uniqueKeysWithValues: (0..<claimed.count).map {
                (claimed.shard($0, 0), Epoch(claimed.integer($0, 1)))
            })
        guard !epochs.isEmpty else { return }
        replica.withMembership { membership, publish in
            if membership.gain(epochs, as: member) { publish(.gained(epochs)) }
        }
    }

    private static let expiry = [
        // Of a process that hangs within a commit, the server waits for the rest and keeps the row locked. The number may be that
        // of another service's backend by now.
        PostgresStatement(
            """
            SELECT pg_terminate_backend(pid) FROM member JOIN pg_stat_activity ON pid = backend
            WHERE expires_at < clock_timestamp() - interval '1 s' AND datname = current_database()
                AND usename = current_user AND application_name = current_setting('application_name')
            """),
        PostgresStatement(
            """
            DELETE FROM member WHERE id IN (
                SELECT id FROM member WHERE expires_at < clock_timestamp() FOR UPDATE SKIP LOCKED)
            """),
        PostgresStatement(
            """
            UPDATE lease SET owner = NULL, free_since = clock_timestamp()
            WHERE owner IS NOT NULL AND NOT EXISTS (SELECT FROM member WHERE id = owner)
            """),
    ]
}
