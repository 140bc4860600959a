import Storage
import TestSupport
import Testing
import Workouts

@Suite struct ModelTests {
    @Test(arguments: StoreKind.available) func `after any puts, deletes and reopenings the store equals a dictionary`(
        kind: StoreKind
    ) async throws {
        let place = try await kind.place()
        var random = SeededRandom()
        var model: [StoreCollection: [StoreKey: [UInt8]]] = [.apples: [:], .pears: [:]]
        var open: OpenStore? = try await OpenStore(place)
        for _ in 0..<150 {
            if Int.random(in: 0..<15, using: &random) == 0 {
                // The old store closes the file before the new one opens it.
                await open?.store.close()
                open = try await OpenStore(place)
            }
            let store = try #require(open)
            let writes = (0..<Int.random(in: 0...12, using: &random)).map { _ in randomWrite(store, &random) }
            if Int.random(in: 0..<8, using: &random) == 0 {
                let failing = writes + [store.put("x", [], in: .unknown)]
                await #expect(throws: StoreError.self) { try await store.store.commit(failing) }
            } else {
                #expect(try await store.store.commit(writes).lostShards.isEmpty)
                for write in writes { apply(write, to: &model[write.collection, default: [:]]) }
            }
            for (collection, records) in model { try await compare(store.store, collection, records, &random) }
        }
    }

    private func randomWrite(_ open: OpenStore, _ random: inout SeededRandom) -> StoreWrite {
        let shard = Shard([0, 1, 255].randomElement(using: &random) ?? 0)
        let collection: StoreCollection = Bool.random(using: &random) ? .apples : .pears
        let key = ["a", "b", "a/1", "a/2", "a/2/3", "a0", "a.", "b/1", "ab/1"].randomElement(using: &random) ?? "a"
        guard Int.random(in: 0..<3, using: &random) > 0 else { return open.delete(key, shard: shard, in: collection) }
        if Int.random(in: 0..<12, using: &random) == 0 { return open.deleteFolder("a", shard: shard, in: collection) }
        let count = Int.random(in: 0...3, using: &random) == 0 ? 9_000 : Int.random(in: 0...40, using: &random)
        let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        return open.put(key, bytes, shard: shard, in: collection)
    }

    private func apply(_ write: StoreWrite, to records: inout [StoreKey: [UInt8]]) {
        switch write.change {
        case .put(let key, let value): records[StoreKey(shard: write.shard, key: key)] = value
        case .delete(let key): records[StoreKey(shard: write.shard, key: key)] = nil
        case .deleteFolder(let path):
            records = records.filter { $0.key.shard != write.shard || !$0.key.key.hasPrefix(path + "/") }
        case .append: break
        }
    }

    /// Reads in all ways; the first difference ends the test.
    private func compare(
        _ store: any Store, _ collection: StoreCollection, _ model: [StoreKey: [UInt8]],
        _ random: inout SeededRandom
    ) async throws {
        let sorted = model.sorted { ($0.key.shard, $0.key.key) < ($1.key.shard, $1.key.key) }
        let shards = Set([Shard(0), Shard(1), Shard(255)].filter { _ in Bool.random(using: &random) })
        let byShards = try await store.records(in: collection, shards: shards)
        try #require(byShards.map(\.value) == sorted.filter { shards.contains($0.key.shard) }.map(\.value))

        let keys = model.keys.shuffled(using: &random).prefix(3) + [StoreKey(shard: Shard(3), key: "a")]
        let byKeys = try await store.records(in: collection, at: Array(keys))
        try #require(byKeys.map(\.value) == keys.compactMap { model[$0] })

        let folders = ["a", "b", "a/2", "ab"].map { StoreFolder(shard: Shard(1), path: $0) }
        let below = try await store.records(in: collection, below: folders)
        let expected = folders.flatMap { folder in
            sorted.filter { $0.key.shard == folder.shard && $0.key.key.hasPrefix(folder.path + "/") }
        }
        try #require(below.map(\.value) == expected.map(\.value))

        for var range in [StoreRange(shard: Shard(1))] + folders.map({ StoreRange($0) }) {
            let limit = Int.random(in: 1...4, using: &random)
            let all = sorted.filter { $0.key.shard == range.shard && range.keys.contains($0.key.key) }
            let reversed = StoreRange(shard: range.shard, keys: range.keys, isDescending: true)
            let last = try await store.records(in: collection, of: reversed, limit: limit)
            try #require(last.map(\.key) == all.reversed().prefix(limit).map(\.key.key))
            var paged: [[UInt8]] = []
            while let page = try? await store.records(in: collection, of: range, limit: limit), !page.isEmpty {
                try #require(page.count <= limit)
                paged += page.map(\.value)
                range = range.after(page[page.count - 1].key)
            }
            try #require(paged == all.map(\.value))
        }
    }
}
