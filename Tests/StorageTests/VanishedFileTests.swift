import Foundation
import Storage
import TestSupport
import Testing
import Workouts

/// Files that are removed or replaced while a process has them open.
@Suite struct VanishedFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: ["store.sqlite", "store.sqlite-wal", "store.sqlite.lock"], [true, false])
    func `a commit fails after a file was removed or replaced`(name: String, isReplaced: Bool) async throws {
        let open = try await OpenStore(folder.store)
        _ = try await open.store.commit([open.put("a", [1])])
        try open.store.verify()
        let path = folder.file(name)
        let content = try Data(contentsOf: URL(filePath: path))
        try FileManager.default.removeItem(atPath: path)
        if isReplaced { try content.write(to: URL(filePath: path)) }
        let gone = StoreError.vanished(path: path)
        await #expect(throws: gone) { try await open.store.commit([open.put("b", [2])]) }
        #expect(throws: gone) { try open.store.verify() }
        #expect("\(gone)".hasPrefix("\(path) was removed or replaced"))
    }

    @Test func `a commit fails after the folder was moved away`() async throws {
        let stores = folder.file("data")
        try FileManager.default.createDirectory(atPath: stores, withIntermediateDirectories: true)
        let open = try await OpenStore(stores + "/store.sqlite")
        try FileManager.default.moveItem(atPath: stores, toPath: stores + ".old")
        await #expect(throws: StoreError.vanished(path: stores + "/store.sqlite")) {
            try await open.store.commit([open.put("a", [1])])
        }
    }

    @Test func `files stay the same over commits and emptied logs`() async throws {
        let open = try await OpenStore(folder.store, erasureInterval: .milliseconds(1))
        let log = URL(filePath: folder.store + "-wal")
        for number in 0..<20 {
            _ = try await open.store.commit([open.put("\(number)", [UInt8](repeating: 7, count: 10_000))])
            let isEmptied = await eventually {
                (try? log.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 1 == 0
            }
            #expect(isEmptied)
            try open.store.verify()
        }
    }

    @Test func `a store that is gone at a later start is not replaced by an empty one`() async throws {
        let open = try await OpenStore(folder.store)
        _ = try await open.store.commit([open.put("a", [1])])
        await open.store.close()
        let files = FileManager.default
        try files.moveItem(atPath: folder.store, toPath: folder.file("moved"))
        let missing = StoreError.missing(path: folder.store)
        await #expect(throws: missing) { try await OpenStore(folder.store) }
        #expect(!files.fileExists(atPath: folder.store))
        #expect("\(missing)".hasSuffix("delete \(folder.store).lock"))

        try files.moveItem(atPath: folder.file("moved"), toPath: folder.store)
        let again = try await OpenStore(folder.store)
        #expect(try await again.store.records(in: .apples, shards: [Shard(7)]).map(\.value) == [[1]])
        await again.store.close()

        try files.removeItem(atPath: folder.store)
        try files.removeItem(atPath: folder.store + ".lock")
        let empty = try await OpenStore(folder.store)
        #expect(try await empty.store.records(in: .apples, shards: [Shard(7)]).isEmpty)
    }
}
