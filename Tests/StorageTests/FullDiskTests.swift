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
}
