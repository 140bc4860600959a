import Foundation
import Storage
import TestSupport
import Testing
import Workouts

@Suite struct FullDiskTests {
    @Test func `a full disk refuses commits and accepts them again when space is free`() async throws {
        let folder = try TemporaryFolder()
        guard let disk = SmallDisk(folder, megabytes: 2) else {
            print("a full disk refuses commits: skipped, mounting a small disk needs root")
            return
        }
        defer { disk.unmount() }
        let open = try await OpenStore(disk.path + "/store.sqlite")
        _ = try await open.store.commit([open.put("before", [1])])
        try disk.fill()
        let large = [UInt8](repeating: 7, count: 100_000)
        for _ in 0..<3 {
            let error = await #expect(throws: StoreError.self) {
                _ = try await open.store.commit([open.put("small", [2]), open.put("large", large)])
            }
            guard case .notWritable? = error else { throw try #require(error) }
            #expect(try await open.all().map(\.key.key) == ["before"])
        }
        try disk.makeRoom()
        _ = try await open.store.commit([open.put("small", [2]), open.put("large", large)])
        #expect(try await Set(open.all().map(\.key.key)) == ["before", "small", "large"])
    }

    @Test func `a store cannot be created on a full disk and can when space is free`() async throws {
        let folder = try TemporaryFolder()
        guard let disk = SmallDisk(folder, megabytes: 1) else {
            print("a store is not created on a full disk: skipped, mounting a small disk needs root")
            return
        }
        defer { disk.unmount() }
        try disk.fill()
        let error = await #expect(throws: StoreError.self) { try await OpenStore(disk.path + "/store.sqlite") }
        guard case .notWritable? = error else { throw try #require(error) }
        try disk.makeRoom()
        let open = try await OpenStore(disk.path + "/store.sqlite")
        _ = try await open.store.commit([open.put("a", [1])])
    }

    @Test func `a full disk takes commits that may use the reserve, and others once the reserve is back`() async throws
    {
        let folder = try TemporaryFolder()
        guard let disk = SmallDisk(folder, megabytes: 4) else {
            print("a full disk takes commits that may use the reserve: skipped, mounting a small disk needs root")
            return
        }
        defer { disk.unmount() }
        let path = disk.path + "/store.sqlite"
        let open = try await OpenStore(path, schema: .journaled, reserveSize: 1 << 20)
        _ = try await open.store.commit([open.append("a/1/w", 0, [1]), open.put("large", large)])
        try disk.fill()
        for _ in 0..<2 { await refuses(open, [open.append("a/1/w", 1, large)]) }
        #expect(FileManager.default.fileExists(atPath: path + ".reserve"))
        let room = try await open.store.commit(
            [open.put("a/1/w", [1]), open.put("larger", large), open.delete("large")],
            trim: open.everything(of: open.shards),
            mayUseReserve: true)
        #expect(room == CommitReport())
        #expect(!FileManager.default.fileExists(atPath: path + ".reserve"))
        // There is room for these, and none for the reserve.
        await refuses(open, [open.append("a/1/w", 1, [2])])
        await refuses(open, [])
        _ = try await open.store.commit([open.put("b", [1])], trim: nil, mayUseReserve: true)
        #expect(!FileManager.default.fileExists(atPath: path + ".reserve"))
        try disk.makeRoom()
        _ = try await open.store.commit([open.append("a/1/w", 1, [2])])
        #expect(try await open.journal().entries.map(\.first) == [1])
        #expect(try await Set(open.all().map(\.key.key)) == ["a/1/w", "b", "larger"])
        #expect(try FileManager.default.attributesOfItem(atPath: path + ".reserve")[.size] as? Int == 1 << 20)
    }

    @Test func `a store without room for its reserve opens for deletions`() async throws {
        let folder = try TemporaryFolder()
        guard let disk = SmallDisk(folder, megabytes: 4) else {
            print("a store without room for its reserve opens: skipped, mounting a small disk needs root")
            return
        }
        defer { disk.unmount() }
        let path = disk.path + "/store.sqlite"
        let open = try await OpenStore(path, schema: .journaled, reserveSize: 16 << 20)
        await refuses(open, [open.append("a/1/w", 0, [1])])
        _ = try await open.store.commit([open.delete("a")], trim: nil, mayUseReserve: true)
        #expect(!FileManager.default.fileExists(atPath: path + ".reserve"))
    }

    private let large = [UInt8](repeating: 7, count: 100_000)

    private func refuses(_ open: OpenStore, _ writes: [StoreWrite]) async {
        let error = await #expect(throws: StoreError.self) { _ = try await open.store.commit(writes) }
        guard case .notWritable? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
