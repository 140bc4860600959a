import Storage
import TestSupport
import Testing
import Workouts

/// The in-memory store has the same guarantees as a real one.
@Suite struct MemoryStoreTests {
    private let database = MemoryDatabase()
    private let shard = Shard(7)

    private func write(_ key: String, _ value: [UInt8], _ change: OwnershipChange) throws -> StoreWrite {
        guard case .gained(let epochs) = change, let epoch = epochs[shard] else { throw OpenStore.NothingGained() }
        return StoreWrite(shard: shard, epoch: epoch, collection: .apples, change: .put(key: key, value: value))
    }

    @Test func `writes under an earlier epoch are left out and reported`() async throws {
        let (one, other) = (database.replica(), database.replica())
        let early = try write("a", [1], one.gain([shard]))
        #expect(try await one.commit([early]).lostShards.isEmpty)
        let late = try write("a", [2], other.gain([shard]))
        #expect(one.owned.isEmpty && other.owned == [shard])
        #expect(try await one.commit([try write("a", [3], .gained([shard: early.epoch]))]).lostShards == [shard])
        #expect(try await other.commit([late]).lostShards.isEmpty)
        #expect(try await one.records(in: .apples, shards: [shard]).map(\.value) == [[2]])
    }

    @Test func `a shard is owned until its release is confirmed`() async throws {
        let store = database.replica()
        let change = try write("a", [1], store.gain([shard]))
        #expect(store.release([shard]) == .releasing([shard]))
        #expect(try await store.commit([change]).lostShards.isEmpty)
        await store.released([shard])
        #expect(try await store.commit([change]).lostShards == [shard])
    }

    @Test func `commits fail on request, before or after writing`() async throws {
        let store = database.replica()
        let change = store.gain([shard])
        store.failNextCommit(.beforeWriting)
        await #expect(throws: StoreError.self) { try await store.commit([try write("a", [1], change)]) }
        #expect(database.records(in: .apples).isEmpty)
        store.failNextCommit(.afterWriting)
        await #expect(throws: StoreError.self) { try await store.commit([try write("a", [2], change)]) }
        #expect(Array(database.records(in: .apples).values) == [[2]])
        store.refuse()
        await #expect(throws: StoreError.self) { try await store.commit([]) }
        store.accept()
        _ = try await store.commit([try write("b", [3], change)])
        #expect(database.records(in: .apples).count == 2)
        store.refuseReads(true)
        await #expect(throws: StoreError.self) { try await store.records(in: .apples, shards: [shard]) }
    }

    @Test func `keys are in order, and folders contain their own`() async throws {
        let store = database.replica()
        let change = store.gain([shard])
        _ = try await store.commit(["b/2", "b/1", "bc/1", "a"].map { try write($0, [1], change) })
        #expect(try await store.records(in: .apples, shards: [shard]).map(\.key) == ["a", "b/1", "b/2", "bc/1"])
        let folder = StoreFolder(shard: shard, path: "b")
        #expect(try await store.records(in: .apples, below: [folder]).map(\.key) == ["b/1", "b/2"])
        let keys = ["bc/1", "none", "a"].map { StoreKey(shard: shard, key: $0) }
        #expect(try await store.records(in: .apples, at: keys).map(\.key) == ["bc/1", "a"])
    }
}
