import Foundation
import GRDB
import Storage
import TestSupport
import Testing
import Workouts

@Suite struct OpeningTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(_ schema: StoreSchema = .fruit, at path: String? = nil) throws {
        _ = try SQLiteStore(path: path ?? folder.store, schema: schema, shards: [])
    }

    @Test func `opening gains all shards once under an epoch that grows with each opening`() async throws {
        var latest = Epoch(0)
        for _ in 0..<5 {
            let open = try await OpenStore(folder.store)
            #expect(open.shards == Set(Shard.all))
            #expect(open.epoch > latest)
            latest = open.epoch
        }
    }

    @Test func `a second store on a file is refused until the first is closed`() async throws {
        var first: OpenStore? = try await OpenStore(folder.store)
        #expect(throws: StoreError.inUse(path: folder.store)) { try open() }
        _ = try await first?.store.commit([first!.put("a", [1])])
        first = nil
        let second = try await OpenStore(folder.store)
        #expect(try await second.all().map(\.value) == [[1]])
    }

    @Test func `a closed store releases its file and refuses commits and reads`() async throws {
        let first = try await OpenStore(folder.store)
        await first.store.released([Shard(7)])
        _ = try await first.store.commit([first.put("a", [1])])
        await first.store.close()
        await #expect(throws: StoreError.self) { try await first.store.commit([first.put("b", [2])]) }
        await #expect(throws: StoreError.self) { try await first.all() }
        let second = try await OpenStore(folder.store)
        #expect(try await second.all().map(\.value) == [[1]])
    }

    @Test func `a store that another process has open is refused`() async throws {
        let first = try await OpenStore(folder.store)
        await #expect(processExitsWith: .success) { [path = folder.store as String] in
            #expect(throws: StoreError.inUse(path: path)) {
                _ = try SQLiteStore(path: path, schema: .fruit, shards: [])
            }
        }
        _ = try await first.store.commit([first.put("a", [1])])
    }

    @Test func `a store that fails to open releases the file`() throws {
        try open()
        #expect(throws: StoreError.self) { try open(StoreSchema(service: "brewery", steps: [])) }
        try open()
    }

    @Test func `only the owner can read the files`() async throws {
        let mask = umask(0)
        defer { umask(mask) }
        let open = try await OpenStore(folder.store)
        _ = try await open.store.commit([open.put("a", [1])])
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["store.sqlite", "store.sqlite-shm", "store.sqlite-wal", "store.sqlite.lock"])
        for name in names {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
    }

    // MARK: Schema

    @Test(arguments: StoreKind.available) func `an older store gains missing collections and keeps its records`(
        kind: StoreKind
    ) async throws {
        let place = try await kind.place()
        let versions = [[[StoreCollection.apples]], [[.apples], [], [.pears]]].map {
            StoreSchema(service: "orchard", steps: $0)
        }
        try await {
            let old = try await OpenStore(place, schema: versions[0])
            _ = try await old.store.commit([old.put("a", [1])])
            await #expect(throws: StoreError.self) { try await old.store.commit([old.put("p", [2], in: .pears)]) }
            await old.store.close()
        }()
        try await {
            let new = try await OpenStore(place, schema: versions[1])
            _ = try await new.store.commit([new.put("p", [2], in: .pears)])
            #expect(try await new.all().map(\.value) == [[1]])
            #expect(try await new.all(.pears).map(\.value) == [[2]])
            await new.store.close()
        }()
        let again = try await OpenStore(place, schema: versions[1])
        #expect(try await again.all(.pears).map(\.value) == [[2]])
    }

    @Test func `an older store without a journal gains one`() async throws {
        try await {
            let old = try await OpenStore(folder.store)
            _ = try await old.store.commit([old.put("a", [1])])
            await old.store.close()
        }()
        try await {
            let new = try await OpenStore(folder.store, schema: .journaled)
            _ = try await new.store.commit([new.append("a/1/w", 0, [5])])
            await new.store.close()
        }()
        #expect(throws: StoreError.newer(path: folder.store, version: 2, supported: 1)) { try open() }
        let again = try await OpenStore(folder.store, schema: .journaled)
        #expect(try await again.all().map(\.value) == [[1]])
        #expect(try await again.journal().entries.map(\.items) == [[5]])
    }

    @Test func `a store with a journal has its reserve, readable by its owner alone`() async throws {
        let mask = umask(0)
        defer { umask(mask) }
        let path = folder.store + ".reserve"
        // Left by a process killed while it took the space.
        try folder.write("part", to: "store.sqlite.reserve")
        for schema in [StoreSchema.journaled, .journaled] {
            let open = try await OpenStore(folder.store, schema: schema, reserveSize: 1 << 20)
            var status = stat()
            #expect(stat(path, &status) == 0)
            #expect(status.st_size == 1 << 20 && status.st_blocks * 512 >= 1 << 20)
            await open.store.close()
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test func `a store of a newer version is refused and unchanged`() async throws {
        let newer = StoreSchema(service: "orchard", steps: [[.apples, .pears], [.unknown]])
        let epoch = try await OpenStore(folder.store, schema: newer).epoch
        #expect(throws: StoreError.newer(path: folder.store, version: 2, supported: 1)) { try open() }
        #expect(try await OpenStore(folder.store, schema: newer).epoch == Epoch(epoch.number + 1))
    }

    @Test func `a store of another service is refused and unchanged`() async throws {
        let epoch = try await OpenStore(folder.store).epoch
        #expect(throws: StoreError.foreign(path: folder.store, service: "orchard")) {
            try open(StoreSchema(service: "brewery", steps: [[.pears]]))
        }
        #expect(try await OpenStore(folder.store).epoch == Epoch(epoch.number + 1))
    }

    @Test func `a database of another program is refused`() throws {
        try DatabaseQueue(path: folder.store).write { try $0.execute(sql: "CREATE TABLE bookmarks (url TEXT)") }
        #expect(throws: StoreError.foreign(path: folder.store, service: "another program")) { try open() }
        let tables = try DatabaseQueue(path: folder.store).read {
            try String.fetchAll($0, sql: "SELECT name FROM sqlite_master")
        }
        #expect(tables == ["bookmarks"])
    }

    // MARK: Other files

    @Test(arguments: ["GIF89a, and nothing like a database", String(repeating: "no database ", count: 1_000)])
    func `a file that is not a database is not readable and unchanged`(text: String) throws {
        try folder.write(text, to: "store.sqlite")
        let error = #expect(throws: StoreError.self) { try open() }
        guard case .notReadable(let reason)? = error else { throw try #require(error) }
        #expect(reason == "\(folder.store): file is not a database")
        #expect(try String(contentsOfFile: folder.store, encoding: .utf8) == text)
    }

    @Test func `a folder in place of the file is not writable`() throws {
        try FileManager.default.createDirectory(atPath: folder.store, withIntermediateDirectories: true)
        let error = #expect(throws: StoreError.self) { try open() }
        guard case .notWritable(let reason)? = error else { throw try #require(error) }
        #expect(reason.contains(folder.store))
    }

    /// Even root cannot create files there.
    @Test func `a folder that accepts no files is not writable`() throws {
        let path = "/proc/sys/store.sqlite"
        let error = #expect(throws: StoreError.self) { try open(at: path) }
        guard case .notWritable(let reason)? = error else { throw try #require(error) }
        let parent = URL(filePath: path).deletingLastPathComponent().path
        #expect(reason.hasPrefix(parent))
    }

    @Test func `a folder that does not exist is an error, and no folder is created`() throws {
        for path in [folder.file("mistyped/store.sqlite"), "/dev/null/store.sqlite"] {
            let parent = URL(filePath: path).deletingLastPathComponent().path
            #expect(throws: StoreError.missingFolder(parent)) { try open(at: path) }
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("mistyped")))
    }
}
