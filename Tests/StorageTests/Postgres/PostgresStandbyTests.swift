import Foundation
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import Storage

/// Commits that wait for a synchronous standby which does not answer. Once its wait is canceled, the server reports success with a
/// warning.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(60))) struct PostgresStandbyTests {
    enum Interruption: String, CaseIterable {
        case cancel, terminate
    }

    private static let waits =
        "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'pacebus orchard'"

    private func replica(_ server: PostgresServer, _ database: String) throws -> PostgresReplica {
        PostgresReplica(try PostgresAddress(server.url(database)), .fruit, .balanced, lease: .seconds(5))
    }

    /// Lets all commits of a server wait from now on.
    private func loseStandby(_ server: PostgresServer) async throws {
        try await server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try await server.run("SELECT pg_reload_conf()")
        let probe = try ChildProcess(
            [
                "psql", "-h", server.folder.path, "-p", "\(server.port)", "-U", "pacebus", "-d", "postgres", "-c",
                "CREATE TABLE probe ()",
            ], log: server.folder.file("probe.log"))
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        #expect(try await eventually { try await server.run(waits) == "1\n" })
        try await server.run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        _ = await probe.finish()
    }

    /// Interrupts one that waits. On a busy machine its time may be over before.
    private func interrupt(
        _ function: String, _ waits: String, on server: PostgresServer, unless isOver: () -> Bool
    ) async throws {
        let isDone = try await eventually {
            if isOver() { return true }
            return try await server.run("SELECT \(function)(pid) \(waits)") == "t\n"
        }
        #expect(isDone)
    }

    @Test(arguments: Interruption.allCases)
    func `a commit that no standby confirmed is lost`(_ interruption: Interruption) async throws {
        let server = try await PostgresServer()
        let replica = try replica(server, try await server.createDatabase())
        try PostgresLeases(replica, PostgresJobs()).open()
        let epoch = try #require(replica.withMembership { membership, _ in membership.leases[Shard(7)]?.epoch })
        try await loseStandby(server)
        // One commit and no beat.
        let jobs = PostgresJobs<PostgresWriter.Job>()
        let outcome = Mutex<CommitReport?>(nil)
        let write = StoreWrite(shard: Shard(7), epoch: epoch, collection: .apples, change: .put(key: "a", value: [1]))
        _ = jobs.add(
            PostgresWriter.Job(writes: [write], trim: nil) { result in outcome.withLock { $0 = try? result.get() } })
        jobs.close()
        Thread.detachNewThread { PostgresWriter(replica, jobs).run() }
        let isOver = { outcome.withLock { $0 != nil } }
        try await interrupt("pg_\(interruption)_backend", Self.waits, on: server, unless: isOver)
        if interruption == .terminate {
            // The question for the outcome waits too, until the time of the member is over.
            let asks = "\(Self.waits) AND query LIKE 'SELECT beat%'"
            try await interrupt("pg_cancel_backend", asks, on: server, unless: isOver)
        }
        #expect(await eventually(isOver))
        #expect(outcome.withLock { $0 }?.lostShards == [Shard(7)])
        #expect(replica.withMembership { membership, _ in membership.member } == nil)
    }

    @Test func `a membership that no standby confirmed is none`() async throws {
        let server = try await PostgresServer()
        let database = try await server.createDatabase()
        try PostgresLeases(try replica(server, database), PostgresJobs()).open()
        try await loseStandby(server)
        let replica = try replica(server, database)
        let isRefused = Mutex<Bool?>(nil)
        Thread.detachNewThread {
            let isJoined = (try? PostgresLeases(replica, PostgresJobs()).open()) != nil
            isRefused.withLock { $0 = !isJoined }
        }
        let isOver = { isRefused.withLock { $0 != nil } }
        try await interrupt("pg_cancel_backend", Self.waits, on: server, unless: isOver)
        #expect(await eventually(isOver))
        #expect(isRefused.withLock(\.self) == true)
        #expect(replica.withMembership { membership, _ in membership.member } == nil)
    }
}
