import Storage
import TestSupport
import Testing
import Workouts

@Suite struct RecordsTests {
    @Test(arguments: StoreKind.available)
    func `records are sorted by shard and key and limited to the requested shards and collection`(kind: StoreKind)
        async throws
    {
        let place = try await kind.place()
        let open = try await OpenStore(place)
        _ = try await open.store.commit([
            open.put("b", [1], shard: Shard(255)), open.put("a", [2], shard: Shard(255)),
            open.put("z", [3], shard: Shard(0)), open.put("a", [4], shard: Shard(16)),
            open.put("a", [5], shard: Shard(0), in: .pears),
        ])
        let records = try await open.store.records(in: .apples, shards: [Shard(255), Shard(0)])
        #expect(records.map(\.value) == [[3], [2], [1]])
        #expect(records.map(\.key) == ["z", "a", "b"])
        #expect(records.map(\.shard) == [Shard(0), Shard(255), Shard(255)])
        #expect(try await open.store.records(in: .apples, shards: []).isEmpty)
    }

    @Test(arguments: StoreKind.available) func `records by key keep the order of the keys and match shard and key`(
        kind: StoreKind
    ) async throws {
        let place = try await kind.place()
        let open = try await OpenStore(place)
        _ = try await open.store.commit([
            open.put("a", [1]), open.put("ab", [2]), open.put("A", [3]), open.put("a", [4], shard: Shard(8)),
            open.put("a ", [5]), open.put("é", [6]),
        ])
        let keys = [
            StoreKey(shard: Shard(7), key: "é"), StoreKey(shard: Shard(9), key: "a"),
            StoreKey(shard: Shard(7), key: "none"), StoreKey(shard: Shard(7), key: "a"),
            StoreKey(shard: Shard(8), key: "a"), StoreKey(shard: Shard(8), key: "ab"),
        ]
        #expect(try await open.store.records(in: .apples, at: keys).map(\.value) == [[6], [1], [4]])
    }

    @Test(arguments: StoreKind.available) func `a folder contains the keys below its path and no similar ones`(
        kind: StoreKind
    ) async throws {
        let place = try await kind.place()
        let open = try await OpenStore(place)
        let below = ["anna/1/a", "anna/1/b", "anna/1/b/c", "anna/1/~", "anna/1/é"]
        // "." and "0" are the neighbours of "/"; "%" and "_" would be wildcards elsewhere.
        let beside = [
            "anna/1", "anna/10/a", "anna/1.", "anna/1./a", "anna/10", "anna/1-/a", "anna/1 /a", "ann/1/a", "annab/1/a",
            "anna/2/a", "anna", "anna/_/a", "anna/%/a", "Anna/1/a", "x/anna/1/a",
        ]
        _ = try await open.store.commit(
            (below + beside).map { open.put($0, Array($0.utf8)) } + [open.put("anna/1/a", [1], shard: Shard(8))])
        let one = StoreFolder(shard: Shard(7), path: "anna/1")
        let records = try await open.store.records(in: .apples, below: [one])
        #expect(records.map(\.key) == below)
        #expect(records.allSatisfy { $0.value == Array($0.key.utf8) && $0.shard == Shard(7) })
        let wildcards = ["%", "_", "anna/%", "anna/_", ""].map { StoreFolder(shard: Shard(7), path: $0) }
        #expect(
            try await open.store.records(in: .apples, below: wildcards).map(\.key) == ["anna/%/a", "anna/_/a"])
    }

    @Test(arguments: StoreKind.available) func `folders are returned one after the other`(kind: StoreKind) async throws
    {
        let place = try await kind.place()
        let open = try await OpenStore(place)
        _ = try await open.store.commit(["a/2", "b/1", "a/1"].map { open.put($0, []) })
        let folders = ["b", "a"].map { StoreFolder(shard: Shard(7), path: $0) }
        #expect(try await open.store.records(in: .apples, below: folders).map(\.key) == ["b/1", "a/1", "a/2"])
    }

    @Test(arguments: StoreKind.available) func `every byte is returned unchanged`(kind: StoreKind) async throws {
        let place = try await kind.place()
        let open = try await OpenStore(place)
        let bytes = [UInt8](0...255)
        let large = Array(repeatElement(bytes, count: 4_000).joined())
        _ = try await open.store.commit([open.put("all", bytes), open.put("large", large), open.put("none", [])])
        #expect(
            try await open.store.records(in: .apples, shards: [Shard(7)]).map(\.value) == [bytes, large, []])
    }
}
