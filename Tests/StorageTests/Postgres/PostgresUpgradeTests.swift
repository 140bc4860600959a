import Foundation
import TestSupport
import Testing
import Workouts

@testable import Storage

/// Replicas of two versions of a program share a database.
@Suite(.enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(60))) struct PostgresUpgradeTests {
    private static let newer = StoreSchema(
        service: "orchard", steps: StoreSchema.journaled.steps + [[StoreCollection("plums")]])

    /// Notes each claim of a shard: the version that wrote it last and the one that claims it.
    private static let audit = """
        CREATE TABLE orchard.claim (shard int2, epoch bigint, before int, after int);
        CREATE FUNCTION orchard.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO orchard.claim VALUES (NEW.shard, NEW.epoch, OLD.version, NEW.version);
            RETURN NEW;
        END $$;
        CREATE TRIGGER note BEFORE UPDATE ON orchard.lease FOR EACH ROW
            WHEN (NEW.owner IS NOT NULL AND OLD.epoch <> NEW.epoch) EXECUTE FUNCTION orchard.note();
        """

    @Test func `a rolling upgrade loses no write, and an older replica takes nothing back`() async throws {
        let server = try await PostgresServer.shared
        let database = try await server.createDatabase()
        let url = server.url(database)
        func replica(_ schema: StoreSchema) throws -> CountingReplica {
            // So long that a busy machine ends no membership.
            try CountingReplica(url, schema: schema, lease: .seconds(600))
        }
        func read(_ sql: String) async throws -> String {
            try await server.run(sql, in: database).trimmingCharacters(in: .newlines)
        }
        func shards(_ replicas: [CountingReplica]) -> Int { Set(replicas.flatMap(\.shards)).count }
        func works(_ replica: CountingReplica) async -> Bool {
            let before = replica.commits
            return await eventually { replica.commits > before + 20 }
        }

        var older = [try replica(.journaled), try replica(.journaled)]
        let both = older
        let isShared = await eventually { both.allSatisfy { $0.shards.count == 128 } }
        try await server.run(Self.audit, in: database)
        // One more of the new version, then one less of the old, as Kubernetes and the README do it.
        var newer: [CountingReplica] = []
        for step in 0..<2 {
            newer.append(try replica(Self.newer))
            let added = newer[step]
            let isOwner = await eventually { !added.shards.isEmpty }
            var areWorking = await works(added)
            for other in older where areWorking && !other.shards.isEmpty { areWorking = await works(other) }
            #expect(isOwner && areWorking)
            await older.removeFirst().close()
            // An old one starts again in the middle, as after a crash. It takes what no newer one had.
            if step == 0 { older.append(try replica(.journaled)) }
        }
        let last = newer + older
        let isTaken = await eventually { shards(last) == 256 }
        #expect(isShared && isTaken)
        await older.removeFirst().close()
        let upgraded = newer
        let isUpgraded = await eventually { upgraded.allSatisfy { $0.shards.count == 128 } }
        #expect(isUpgraded)
        #expect(try await read("SELECT DISTINCT version FROM orchard.lease") == "3")

        // One that starts afterwards gets none, and none moves for it.
        let claims = try await read("SELECT count(*) FROM orchard.claim")
        let late = try replica(.journaled)
        // Three seconds of its membership.
        let isMember = try await eventually {
            try await read("SELECT count(*) FROM orchard.member WHERE version = 2 AND beat >= 3") == "1"
        }
        #expect(isMember && late.shards.isEmpty)
        #expect(try await read("SELECT count(*) FROM orchard.claim") == claims)
        for replica in newer + [late] { await replica.close() }
        #expect(try await read("SELECT count(*) FROM orchard.claim WHERE after < before") == "0")
        #expect(
            try await read("SELECT count(DISTINCT shard) FROM orchard.claim WHERE before = 2 AND after = 3") == "256")
        let total = try await CountingReplica.verify(url, schema: Self.newer)
        print("\(total) counts over an upgrade, \(claims) claims")
    }
}
