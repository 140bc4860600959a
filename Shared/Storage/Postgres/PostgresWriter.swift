import Foundation
import Workouts

/// Commits and beats, on a thread and a connection of their own.
///
/// A commit is one pipeline, hence one transaction. Its first statement raises the beat of the member's row, or fails and undoes
/// the rest if the row is gone. If the connection is lost within a commit, the beat tells whether the commit is durable.
final class PostgresWriter {
    struct Job: Sendable {
        let writes: [StoreWrite]
        let trim: JournalTrim?
        let done: @Sendable (Result<CommitReport, StoreError>) -> Void
    }

    private enum Outcome {
        case durable
        /// Nothing was written.
        case refused(String)
        /// The replica is a member no more.
        case lost
    }

    private static let beatInterval = Duration.seconds(1)
    private static let retryInterval = 0.05

    private let replica: PostgresReplica
    private let jobs: PostgresJobs<Job>
    private var connection: PostgresConnection?

    init(_ replica: PostgresReplica, _ jobs: PostgresJobs<Job>) {
        (self.replica, self.jobs) = (replica, jobs)
    }

    /// Works until the jobs are closed.
    func run() {
        while true {
            let lastBeat = replica.withMembership { membership, _ in
                membership.member == nil ? .now : membership.confirmed
            }
            switch jobs.next(until: lastBeat + Self.beatInterval) {
            case .job(let job): job.done(commit(job))
            case .none: beat()
            case .closed: return
            }
        }
    }

    private func beat() {
        let membership = replica.withMembership { membership, _ in membership }
        guard let member = membership.member else { return }
        let outcome = transact([], member, membership)
        // A refused beat is repeated, but not at once.
        if case .refused = outcome { Thread.sleep(forTimeInterval: Self.retryInterval) }
    }

    private func commit(_ job: Job) -> Result<CommitReport, StoreError> {
        let membership = replica.withMembership { membership, _ in membership }
        var commit = PostgresCommit(job.writes, trim: job.trim, membership)
        guard let member = membership.member else { return .success(commit.report) }
        guard commit.byteCount <= PostgresCommit.limit else {
            return .failure(
                .notWritable("a commit of \(commit.byteCount) bytes; at most \(PostgresCommit.limit) are accepted"))
        }
        // A replica whose time is over may not act on an empty commit either.
        if commit.isEmpty, membership.deadline > .now { return .success(commit.report) }
        var sequence = membership.sequence
        let statements = commit.statements(member: member, sequence: &sequence)
        replica.withMembership { [sequence] membership, _ in membership.sequence = sequence }
        switch transact(statements, member, membership) {
        case .durable:
            replica.withMembership { [shards = commit.trimmed] membership, _ in membership.trimmed(shards) }
            return .success(commit.report)
        case .refused(let text): return .failure(.notWritable(text))
        case .lost: return .success(CommitReport(lostShards: Set(job.writes.map(\.shard))))
        }
    }

    /// Runs statements behind the fence until their outcome is known.
    private func transact(
        _ statements: [PostgresStatement], _ member: Int64, _ membership: PostgresMembership
    ) -> Outcome {
        let (beat, deadline) = (membership.beat, membership.deadline)
        while ContinuousClock.now < deadline {
            let start = ContinuousClock.now
            guard let connection = connect() else {
                // Nothing was sent. The database may come back in time.
                Thread.sleep(forTimeInterval: Self.retryInterval)
                continue
            }
            do {
                _ = try connection.run([fence(member, beat)] + statements, until: deadline)
                // A primary that ends its wait for a standby reports success for what no standby has.
                guard !connection.hasWarned else { break }
                return confirm(member, beat + 1, start)
            } catch .refused(let state, let text) {
                switch state {
                // Division by zero: the fence.
                case "22012": return lose(member)
                // A server that became a standby.
                case "25006": self.connection = nil
                default: break
                }
                return .refused("\(text) (\(state))")
            } catch {
                self.connection = nil
                switch resolve(member, until: deadline) {
                case beat: continue
                case beat + 1: return confirm(member, beat + 1, start)
                default: return lose(member)
                }
            }
        }
        return lose(member)
    }

    private func connect() -> PostgresConnection? {
        if connection == nil { connection = try? replica.connect() }
        return connection
    }

    /// The member's beat after all its earlier statements have ended; `nil` if the row is gone or the time is over.
    private func resolve(_ member: Int64, until deadline: ContinuousClock.Instant) -> Int64? {
        let statement = PostgresStatement(
            "SELECT beat FROM member WHERE id = $1 FOR UPDATE", PostgresValue.int8(member))
        while ContinuousClock.now < deadline {
            // The lock is a commit of its own, which waits for a standby in the same way.
            if let connection = connect(), let result = try? connection.run(statement, until: deadline),
                !connection.hasWarned
            {
                return result.count == 1 ? result.integer(0, 0) : nil
            }
            connection = nil
            Thread.sleep(forTimeInterval: Self.retryInterval)
        }
        return nil
    }

    private func confirm(_ member: Int64, _ beat: Int64, _ start: ContinuousClock.Instant) -> Outcome {
        let counts = replica.withMembership { membership, _ in membership.confirm(member, beat, startedAt: start) }
        return counts ? .durable : .lost
    }

    private func lose(_ member: Int64) -> Outcome {
        replica.lose(member)
        return .lost
    }

    private func fence(_ member: Int64, _ beat: Int64) -> PostgresStatement {
        PostgresStatement(
            """
            WITH own AS (
                UPDATE member SET beat = beat + 1, expires_at = clock_timestamp() + $3::int8 * interval '1 s',
                    backend = pg_backend_pid()
                WHERE id = $1 AND beat = $2 RETURNING 1
            )
            SELECT 1 / count(*) FROM own
            """, PostgresValue.int8(member), PostgresValue.int8(beat),
            PostgresValue.int8(replica.lease.components.seconds))
    }
}
