import GRDB
import TestSupport
import Testing
import Workouts

@testable import Storage

@Suite struct CommitTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: StoreKind.available) func `writes are applied in order`(kind: StoreKind) async throws {
        let place = try await kind.place()
        let open = try await OpenStore(place)
        let report = try await open.store.commit([
            open.put("a", [1]), open.put("b", [2]), open.put("a", [3]), open.delete("b"), open.put("c", []),
            open.delete("never there"),
        ])
        #expect(report.lostShards.isEmpty)
        #expect(
            try await open.all() == [StoreKey(shard: Shard(7), key: "a"): [3], StoreKey(shard: Shard(7), key: "c"): []])
    }

    @Test(arguments: StoreKind.available) func `a commit that fails in the middle changes nothing`(kind: StoreKind)
        async throws
    {
        let place = try await kind.place()
        let open = try await OpenStore(place)
        _ = try await open.store.commit([open.put("a", [1]), open.put("b", [2])])
        let before = try await open.all()
        let error = await #expect(throws: StoreError.self) {
            try await open.store.commit([
                open.put("a", [9]), open.delete("b"), open.put("c", [9]), open.put("x", [9], in: .unknown),
                open.put("d", [9]),
            ])
        }
        guard case .notWritable? = error else { throw try #require(error) }
        #expect(try await open.all() == before)
        _ = try await open.store.commit([open.put("a", [4])])
        #expect(try await open.all()[StoreKey(shard: Shard(7), key: "a")] == [4])
    }

    @Test(arguments: StoreKind.available)
    func `writes of another epoch are dropped and reported and the others are committed`(kind: StoreKind) async throws {
        let place = try await kind.place()
        let open = try await OpenStore(place)
        let older = Epoch(open.epoch.number - 1)
        let newer = Epoch(open.epoch.number + 1)
        let report = try await open.store.commit([
            open.put("a", [1], shard: Shard(1)), open.put("a", [2], shard: Shard(2), epoch: older),
            open.put("a", [3], shard: Shard(3), epoch: newer), open.put("a", [4], shard: Shard(4)),
        ])
        #expect(report.lostShards == [Shard(2), Shard(3)])
        #expect(
            try await open.all() == [
                StoreKey(shard: Shard(1), key: "a"): [1], StoreKey(shard: Shard(4), key: "a"): [4],
            ]
        )
    }

    @Test(arguments: StoreKind.available)
    func `a new owner keeps earlier commits and refuses late writes of the former owner`(kind: StoreKind) async throws {
        let place = try await kind.place()
        let late = try await {
            let first = try await OpenStore(place)
            _ = try await first.store.commit([first.put("a", [1])])
            await first.store.close()
            return first.put("a", [2])
        }()
        let second = try await OpenStore(place)
        #expect(try await second.store.commit([late]).lostShards == [Shard(7)])
        #expect(try await second.all() == [StoreKey(shard: Shard(7), key: "a"): [1]])
    }

    @Test func `a commit is on disk before it returns`() async throws {
        let open = try await OpenStore(folder.store)
        let (journal, synchronous) = try await open.database.writeWithoutTransaction { database in
            (
                try String.fetchOne(database, sql: "PRAGMA journal_mode"),
                try Int.fetchOne(database, sql: "PRAGMA synchronous")
            )
        }
        #expect(journal == "wal")
        // 2 is FULL: each commit syncs the log. GRDB's default is 1.
        #expect(synchronous == 2)
    }

    @Test(arguments: StoreKind.available)
    func `a canceled commit either completes and returns or changes nothing and throws`(kind: StoreKind) async throws {
        let place = try await kind.place()
        var random = SeededRandom()
        let open = try await OpenStore(place)
        var made: Set<String> = []
        for number in 0..<300 {
            let writes = (0..<20).map { open.put("\(number)/\($0)", [UInt8](repeating: 1, count: 500)) }
            let commit = Task { try await open.store.commit(writes) }
            for _ in 0..<Int.random(in: 0...60, using: &random) { await Task.yield() }
            commit.cancel()
            do {
                _ = try await commit.value
                made.insert("\(number)")
            } catch let error as StoreError {
                guard case .notWritable = error else { throw error }
            }
        }
        let stored = Dictionary(grouping: try await open.all().keys) { $0.key.prefix { $0 != "/" } }
        #expect(stored.values.allSatisfy { $0.count == 20 })
        #expect(Set(stored.keys.map(String.init)) == made)
        _ = try await open.store.commit([open.put("after", [1])])
    }
}
