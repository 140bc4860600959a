import Foundation
import TestSupport
import Testing
import Workouts

@testable import Storage

/// An operator's reader beside the service that has the store open.
@Suite(.timeLimit(.minutes(60))) struct StoreReaderTests {
    private func reader(_ place: StorePlace) throws -> StoreReader {
        switch place {
        case .sqlite(let folder): try StoreReader(path: folder.store)
        case .postgres(let url): try StoreReader(PostgresAddress(url), service: StoreSchema.fruit.service)
        }
    }

    @Test(arguments: StoreKind.available)
    func `it finds a folder with its own record, and names in all shards, while the store is written`(
        kind: StoreKind
    ) async throws {
        let place = try await kind.place()
        let store = try await OpenStore(place)
        let one = Shard(7)
        _ = try await store.store.commit([
            store.put("ann/s1", [1]), store.put("ann/s1/r1", [2]), store.put("ann/s10", [3]), store.put("ann/s1.", [4]),
            store.put("bob/s1", [5], shard: Shard(9)), store.put("ann/s1", [6], in: .pears),
        ])
        let reader = try reader(place)
        let folder = StoreFolder(shard: one, path: "ann/s1")
        #expect(try reader.records(in: .apples, of: folder).map(\.value) == [[1], [2]])
        #expect(try reader.records(in: .apples, named: "s1").map(\.key) == ["ann/s1", "bob/s1"])
        #expect(try reader.records(in: .apples, named: "s1", shard: one).map(\.key) == ["ann/s1"])
        // A store of another version may lack a collection.
        #expect(try reader.records(in: .unknown, of: folder).isEmpty)
        _ = try await store.store.commit([store.put("ann/s1/r2", [7])])
        #expect(try reader.records(in: .apples, of: folder).map(\.value) == [[1], [2], [7]])
        await store.store.close()
    }

    @Test func `a missing file is an error, and stays missing`() throws {
        let folder = try TemporaryFolder()
        #expect(throws: StoreError.self) { try StoreReader(path: folder.store) }
        #expect(!FileManager.default.fileExists(atPath: folder.store))
    }
}
