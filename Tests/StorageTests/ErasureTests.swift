import Foundation
import GRDB
import TestSupport
import Testing
import Workouts

@testable import Storage

@Suite struct ErasureTests {
    private let folder: TemporaryFolder
    private static let secret = Array("the secret of a deleted workout".utf8)
    /// Small enough for a page of its own, and long enough for pages of overflow.
    private static let values = [secret, Array(repeating: secret, count: 4_000).flatMap(\.self)]

    init() throws {
        folder = try TemporaryFolder()
    }

    private func files(with bytes: [UInt8] = secret) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
            try Data(contentsOf: URL(filePath: folder.file(name))).range(of: Data(bytes)) != nil
        }
    }

    @Test(arguments: values) func `what is deleted or replaced is gone from the files of an open store`(
        value: [UInt8]
    ) async throws {
        let open = try await OpenStore(folder.store, erasureInterval: .milliseconds(20))
        _ = try await open.store.commit([open.put("a", value), open.put("b", value), open.put("c", [1])])
        #expect(try !files().isEmpty)
        _ = try await open.store.commit([open.delete("a"), open.put("b", [2])])
        #expect(await eventually { (try? files()) == [] })
        #expect(try await open.all().values.sorted { $0[0] < $1[0] } == [[1], [2]])
    }

    @Test func `a reader delays the erasure and no commit`() async throws {
        let open = try await OpenStore(folder.store, erasureInterval: .milliseconds(20))
        _ = try await open.store.commit([open.put("a", Self.secret)])
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(path: folder.store, configuration: configuration)
        try await reader.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN")
            _ = try Row.fetchAll(database, sql: "SELECT * FROM collection_apples")
        }
        let began = ContinuousClock.now
        for number in 0..<20 { _ = try await open.store.commit([open.put("b\(number)", [1]), open.delete("a")]) }
        // If each waited for the reader, they would take 100 s.
        #expect(ContinuousClock.now - began < .seconds(40))
        #expect(try !files().isEmpty)
        try await reader.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        #expect(await eventually { (try? files()) == [] })
    }

    @Test func `what was journaled and trimmed is gone from the files of an open store`() async throws {
        var random = SeededRandom()
        let open = try await OpenStore(folder.store, schema: .journaled, erasureInterval: .milliseconds(20))
        let chunk = Array(repeating: Self.secret, count: 70).flatMap(\.self)
        // Two sessions of a shard each, and a third that stays.
        for round in 0..<3 {
            var last: Int64 = 0
            for number in 0..<60 {
                let others = (0..<Int.random(in: 0...80, using: &random)).map { other in
                    open.append("b/\(other)/w", number, [UInt8](repeating: 98, count: 40), shard: Shard(9))
                }
                let report = try await open.trim(
                    .own(through: last - Int64.random(in: 0...20, using: &random)),
                    others + [
                        open.append("a/1/w", number, Self.secret),
                        open.append("a/2/w", number, Array(repeating: Self.secret, count: 200).flatMap(\.self)),
                        open.put("a/1/w/\(number / 8)", chunk),
                        open.put(
                            "b/1/w/\(round)/\(number)", [UInt8](repeating: 98, count: 2_000 + number), shard: Shard(9)),
                    ])
                last = report.journaled?.sequence ?? last
            }
            #expect(try !files().isEmpty)
            let trim = Bool.random(using: &random) ? JournalTrim.own(through: last) : open.everything(of: [Shard(7)])
            try await open.trim(trim, [open.deleteFolder("a/1", shard: Shard(7), in: .apples)])
            #expect(await eventually { (try? files()) == [] })
            #expect(try await open.store.journal(of: [Shard(7)]) == JournalTail())
        }
    }
}
