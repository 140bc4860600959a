import Foundation
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import Storage

/// Several replicas share the shards of one database.
@Suite(.enabled(if: PostgresServer.isInstalled)) struct PostgresSharingTests {
    @Test func `replicas share the shards equally, and a closed one's shards move at once`() async throws {
        let server = try await PostgresServer.shared
        let database = try await server.createDatabase()
        let url = server.url(database)
        let first = try CountingReplica(url, lease: .seconds(600))
        let hasAll = await eventually { first.shards.count == 256 }
        let second = try CountingReplica(url, lease: .seconds(600))
        let isEqual = await eventually { first.shards.count == 128 && second.shards.count == 128 }
        let members = "SELECT count(*) FROM orchard.member"
        #expect(try await server.run(members, in: database) == "2\n")
        await first.close()
        // It has left; its time is not awaited.
        #expect(try await server.run(members, in: database) == "1\n")
        let hasMoved = await eventually { second.shards.count == 256 }
        #expect(hasAll && isEqual && hasMoved)
        await second.close()
    }

    @Test func `of single replicas one owns all shards, and a standby takes them when it ends or hangs`() async throws {
        let server = try await PostgresServer.shared
        let database = try await server.createDatabase()
        let link = try CuttingLink(to: server.port)
        defer { link.close() }
        let first = try CountingReplica(server.url(database), plan: .single)
        let hasAll = await eventually { first.shards.count == 256 }
        let second = try CountingReplica(server.url(database, port: link.port), plan: .single)
        let owners = "SELECT count(*), count(DISTINCT owner) FROM orchard.lease WHERE owner IS NOT NULL"
        #expect(try await server.run(owners, in: database) == "256|1\n")
        #expect(hasAll && second.shards.isEmpty)
        await first.close()
        let isTaken = await eventually { second.shards.count == 256 }
        let third = try CountingReplica(server.url(database), plan: .single)
        link.set(.freeze)
        let isReplaced = await eventually { third.shards.count == 256 }
        let hasLost = await eventually { second.shards.isEmpty }
        #expect(isTaken && isReplaced && hasLost)
        // The former owner joins again and stands by.
        link.repair()
        let isBack = try await eventually {
            try await server.run("SELECT count(*) FROM orchard.member", in: database) == "2\n"
        }
        #expect(isBack && third.shards.count == 256 && second.shards.isEmpty)
        for replica in [second, third] { await replica.close() }
    }

    @Test func `whatever breaks, each count of a shard is committed once and none is missing`() async throws {
        let server = try await PostgresServer.shared
        let database = try await server.createDatabase()
        var random = SeededRandom()
        let links = try (0..<3).map { _ in try CuttingLink(to: server.port) }
        var replicas = try links.map { try CountingReplica(server.url(database, port: $0.port)) }
        var faults = [0, 0, 0, 0]
        for step in 0..<24 {
            let index = Int.random(in: 0..<3, using: &random)
            // Two long freezes, which outlive the membership; the others are short.
            let fault = step % 12 == 6 ? 3 : Int.random(in: 0..<3, using: &random)
            faults[fault] += 1
            switch fault {
            case 0: links[index].set(.cut(after: Int.random(in: 0...20_000, using: &random)))
            case 1: links[index].set(.swallow(after: Int.random(in: 0...2_000, using: &random)))
            case 2:
                await replicas[index].close()
                links[index].repair()
                replicas[index] = try CountingReplica(server.url(database, port: links[index].port))
            default:
                links[index].set(.freeze)
                let others = replicas.indices.filter { $0 != index }.map { replicas[$0] }
                // The frozen one works on after the others have taken its shards.
                let isTaken = await eventually { Set(others.flatMap(\.shards)).count == 256 }
                #expect(isTaken)
                links[index].repair()
            }
            let before = replicas.map { $0.commits }
            let others = replicas
            let continues = await eventually { others.indices.contains { others[$0].commits > before[$0] + 20 } }
            #expect(continues)
        }
        for link in links { link.repair() }
        let last = replicas
        let isComplete = await eventually { Set(last.flatMap(\.shards)).count == 256 }
        #expect(isComplete)
        for replica in replicas { await replica.close() }
        let total = try await CountingReplica.verify(server.url(database))
        print("\(total) counts, faults (cuts, lost answers, drains, freezes) \(faults)")
        for link in links { link.close() }
    }
}
