import Foundation
import GRDB
import TestSupport
import Testing
import Workouts

@testable import Storage

@Suite struct JournalTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: StoreKind.available) func `appended items are read in order, of the requested shards`(
        kind: StoreKind
    ) async throws {
        let place = try await kind.place()
        let open = try await OpenStore(place, schema: .journaled)
        let first = try await open.store.commit([
            open.put("a", [1]), open.append("b/1/w", 5, [1, 2]), open.append("a/1/w", 0, [], shard: Shard(9)),
            open.append("b/1/w", 7, [3]),
        ])
        let second = try await open.store.commit([open.append("a/1/w", 1, [4], shard: Shard(9))])
        let positions = try [#require(first.journaled), #require(second.journaled)]
        #expect(positions[0].incarnation == positions[1].incarnation)
        #expect(positions[1].sequence == positions[0].sequence + 1)
        #expect(try await open.store.commit([open.put("a", [2])]).journaled == nil)
        let entries = [
            JournalEntry(shard: Shard(7), stream: "b/1/w", first: 5, items: [1, 2]),
            JournalEntry(shard: Shard(7), stream: "b/1/w", first: 7, items: [3]),
            JournalEntry(shard: Shard(9), stream: "a/1/w", first: 0, items: []),
            JournalEntry(shard: Shard(9), stream: "a/1/w", first: 1, items: [4]),
        ]
        #expect(try await open.store.journal(of: [Shard(7), Shard(9)]) == JournalTail(entries: entries))
        #expect(try await open.store.journal(of: [Shard(7)]).entries == Array(entries[..<2]))
        #expect(try await open.store.journal(of: [Shard(8)]).entries.isEmpty)
    }

    @Test(arguments: StoreKind.available) func `a trim removes what it covers and no entry of its commit`(
        kind: StoreKind
    ) async throws {
        let place = try await kind.place()
        let open = try await OpenStore(place, schema: .journaled)
        var sequences: [Int64] = []
        for number in 0..<4 {
            let report = try await open.store.commit([open.append("a/1/w", number, [1])])
            sequences.append(try #require(report.journaled).sequence)
        }
        let firsts = { try await open.journal().entries.map(\.first) }
        try await open.trim(.own(through: sequences[1]))
        #expect(try await firsts() == [2, 3])
        try await open.trim(.own(through: .max), [open.append("a/1/w", 4, [1])])
        #expect(try await firsts() == [4])
        try await open.trim(open.everything(of: [Shard(7)]), [open.append("a/1/w", 5, [1])])
        #expect(try await firsts() == [5])
    }

    @Test(arguments: StoreKind.available) func `the next process reads the journal and trims it shard by shard`(
        kind: StoreKind
    ) async throws {
        let place = try await kind.place()
        let first = try await OpenStore(place, schema: .journaled)
        let late = first.append("a/1/w", 9, [9])
        _ = try await first.store.commit([
            first.append("a/1/w", 0, [1]), first.append("b/1/w", 0, [2], shard: Shard(9)),
        ])
        await first.store.close()
        let second = try await OpenStore(place, schema: .journaled)
        #expect(try await second.store.commit([late]) == CommitReport(lostShards: [Shard(7)]))
        _ = try await second.store.commit([second.append("b/1/w", 1, [3], shard: Shard(9))])
        // The trim of its own records covers none of the process before.
        try await second.trim(.own(through: .max))
        #expect(try await second.journal().entries.map(\.items) == [[1], [2]])
        try await second.trim(second.everything(of: [Shard(7)]))
        #expect(try await second.journal().entries.map(\.items) == [[2]])
        try await second.trim(second.everything(of: [Shard(9)]))
        #expect(try await second.journal() == JournalTail())
    }

    @Test(arguments: StoreKind.available) func `a lost shard is left out of appends and of the trim`(kind: StoreKind)
        async throws
    {
        let place = try await kind.place()
        let open = try await OpenStore(place, schema: .journaled)
        _ = try await open.store.commit([open.append("a/1/w", 0, [1]), open.append("b/1/w", 0, [2], shard: Shard(9))])
        let late = StoreWrite(
            shard: Shard(9), epoch: Epoch(open.epoch.number - 1), collection: .journal,
            change: .append(stream: "b/1/w", first: 1, items: [3]))
        let report = try await open.trim(open.everything(of: [Shard(7), Shard(9)]), [late])
        #expect(report == CommitReport(lostShards: [Shard(9)]))
        #expect(try await open.journal().entries.map(\.items) == [[2]])
    }

    @Test(arguments: StoreKind.available) func `a trim under an earlier epoch removes nothing`(
        kind: StoreKind
    ) async throws {
        let place = try await kind.place()
        let first = try await OpenStore(place, schema: .journaled)
        _ = try await first.store.commit([first.append("a/1/w", 0, [1])])
        await first.store.close()
        let second = try await OpenStore(place, schema: .journaled)
        try await second.trim(first.everything(of: [Shard(7)]))
        #expect(try await second.journal().entries.map(\.items) == [[1]])
        try await second.trim(second.everything(of: [Shard(7)]))
        #expect(try await second.journal() == JournalTail())
        await second.store.close()
    }

    @Test(arguments: StoreKind.available) func `a commit that fails appends and trims nothing`(kind: StoreKind)
        async throws
    {
        let place = try await kind.place()
        let open = try await OpenStore(place, schema: .journaled)
        let first = try #require(try await open.store.commit([open.append("a/1/w", 0, [1])]).journaled)
        await #expect(throws: StoreError.self) {
            try await open.trim(.own(through: .max), [open.append("a/1/w", 1, [2]), open.put("x", [], in: .unknown)])
        }
        #expect(try await open.journal().entries.map(\.items) == [[1]])
        let second = try #require(try await open.store.commit([open.append("a/1/w", 1, [3])]).journaled)
        #expect(second > first)
        #expect(try await open.journal().entries.map(\.items) == [[1], [3]])
    }

    @Test func `items of more than a megabyte take several records`() async throws {
        let open = try await OpenStore(folder.store, schema: .journaled)
        let items = (0..<40).map { [UInt8](repeating: UInt8($0), count: 100_000) }
        let writes = items.enumerated().map { number, items in
            open.append("a/\(number)/w", number, items, shard: Shard(UInt8(number / 5)))
        }
        let before = try #require(try await open.store.commit([open.append("a/1/w", 0, [])]).journaled)
        let report = try await open.store.commit(writes)
        let sizes = try await open.database.read {
            try Int.fetchAll($0, sql: "SELECT length(bytes) FROM journal ORDER BY sequence")
        }
        #expect(sizes.count == 5 && sizes.allSatisfy { $0 <= 1 << 20 })
        #expect(report.journaled?.sequence == before.sequence + 4)
        #expect(try await open.journal().entries.dropFirst().map(\.items) == items)
        try await open.trim(.own(through: before.sequence + 4))
        #expect(try await open.journal() == JournalTail())
    }

    // MARK: Damage

    /// Changes the bytes of all records on the disk.
    private func damage(_ open: OpenStore, _ change: @Sendable @escaping (inout Data) -> Void) async throws {
        try await open.database.write { database in
            for var bytes in try Data.fetchAll(database, sql: "SELECT bytes FROM journal") {
                let before = bytes
                change(&bytes)
                try database.execute(sql: "UPDATE journal SET bytes = ? WHERE bytes = ?", arguments: [bytes, before])
            }
        }
    }

    @Test func `a damaged entry hides no other and stays until it is trimmed`() async throws {
        let open = try await OpenStore(folder.store, schema: .journaled)
        _ = try await open.store.commit([
            open.append("a/1/w", 0, [1]), open.append("b/1/w", 0, [2]), open.append("c/1/w", 0, [3]),
            open.append("d/1/w", 0, [4], shard: Shard(9)),
        ])
        try await damage(open) { bytes in
            guard let name = bytes.range(of: Data("b/1/w".utf8)) else { return }
            bytes[name.lowerBound] ^= 1
        }
        let tail = try await open.journal()
        #expect(tail.entries.map(\.items) == [[1], [3], [4]])
        #expect(tail.skipped == 1)
        try await open.trim(open.everything(of: [Shard(9)]))
        #expect(try await open.journal().entries.map(\.items) == [[1], [3]])
        #expect(try await open.journal().skipped == 1)
        try await open.trim(open.everything(of: [Shard(7)]))
        #expect(try await open.journal() == JournalTail())
    }

    @Test(arguments: [0, 1, 4, 20]) func `a record with a damaged header counts once and is trimmed like others`(
        offset: Int
    ) async throws {
        let open = try await OpenStore(folder.store, schema: .journaled)
        _ = try await open.store.commit([open.append("a/1/w", 0, [1]), open.append("b/1/w", 0, [2], shard: Shard(9))])
        try await damage(open) { $0[$0.startIndex + offset] ^= 0x80 }
        _ = try await open.store.commit([open.append("a/1/w", 1, [3])])
        #expect(try await open.journal().entries.map(\.items) == [[3]])
        #expect(try await open.journal().skipped == 1)
        try await open.trim(open.everything(of: [Shard(7)]))
        #expect(try await open.journal() == JournalTail(skipped: 1))
        #expect(try await open.store.journal(of: [Shard(7)]) == JournalTail())
        try await open.trim(open.everything(of: [Shard(9)]))
        #expect(try await open.journal() == JournalTail())
    }

    @Test func `a record that is cut short or empty counts and never traps`() async throws {
        let open = try await OpenStore(folder.store, schema: .journaled)
        _ = try await open.store.commit([open.append("a/1/w", 0, [1]), open.append("b/1/w", 0, [2])])
        try await damage(open) { $0.removeLast() }
        #expect(try await open.journal().entries.map(\.items) == [[1]])
        #expect(try await open.journal().skipped == 1)
        try await damage(open) { $0.removeAll() }
        #expect(try await open.journal() == JournalTail(skipped: 1))
    }
}
