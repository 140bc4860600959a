import Foundation
import TestSupport
import Testing
import Workouts

@testable import Storage

@Suite struct JournalRecordTests {
    private func entry(_ number: Int, _ random: inout SeededRandom) -> JournalRecord.Append {
        var name = String(repeating: "ü/", count: Int.random(in: 0...20, using: &random))
        if Bool.random(using: &random) {
            let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
            let session = SessionID(UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }))
            name = "\(["anna", "", "ü"].randomElement(using: &random)!)/\(session)/\(name)"
            if Bool.random(using: &random) { name = name.uppercased() }
        }
        let items = (0..<Int.random(in: 0...60, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        let shard = Shard(UInt8.random(in: 0...3, using: &random))
        return JournalRecord.Append(
            epoch: Epoch(9), entry: JournalEntry(shard: shard, stream: "\(name)\(number)", first: number, items: items))
    }

    private func read(_ records: [UInt8]...) -> JournalTail { read(records) }

    private func read(_ records: [[UInt8]]) -> JournalTail {
        var reader = JournalReader()
        for bytes in records { bytes.withUnsafeBytes { reader.read($0, of: Set(Shard.all)) } }
        return reader.tail
    }

    @Test func `any appends are read as they were written, in records of bounded size`() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let appends = (0..<Int.random(in: 1...40, using: &random)).map { entry($0, &random) }
            let limit = Int.random(in: 100...4_000, using: &random)
            let records = JournalRecord.encode(appends, limit: limit)
            let tails = records.map { read($0.bytes) }
            try #require(tails.flatMap(\.entries) == appends.map(\.entry).sorted { $0.shard < $1.shard })
            // The streams of a record recur in the next one.
            let repeated = records.map(\.bytes) + records.map(\.bytes)
            try #require(read(repeated).entries == tails.flatMap(\.entries) + tails.flatMap(\.entries))
            for (record, tail) in zip(records, tails) {
                try #require(record.bytes.count <= limit || tail.entries.count == 1)
                try #require(record.shards == Set(tail.entries.map(\.shard)))
                let shards = Set(Shard.all.prefix(4).filter { _ in Bool.random(using: &random) })
                let kept = tail.entries.filter { !shards.contains($0.shard) }
                let rest = record.bytes.withUnsafeBytes { JournalRecord($0)?.without(shards, $0) }
                try #require(rest.map { read($0).entries } ?? [] == kept)
            }
        }
    }

    @Test func `a changed, missing or added byte spoils its own entry or the whole record`() throws {
        var random = SeededRandom()
        let appends = (0..<12).map { entry($0, &random) }
        let record = try #require(JournalRecord.encode(appends).first)
        let all = read(record.bytes)
        for index in record.bytes.indices {
            var bytes = record.bytes
            bytes[index] ^= UInt8.random(in: 1...255, using: &random)
            let tail = read(bytes)
            try #require(tail.skipped == 1)
            try #require(tail.entries.isEmpty || tail.entries.count == 11)
            try #require(tail.entries.allSatisfy(all.entries.contains))
            let short = read(Array(record.bytes[..<index]))
            try #require(short.skipped > 0 && all.entries.starts(with: short.entries))
        }
        #expect(read(record.bytes + [0]) == all)
        for _ in 0..<2_000 {
            _ = read((0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...3, using: &random) })
        }
    }

    @Test func `the checksum is the CRC-32 of zip`() {
        for (text, checksum) in [("", 0), ("123456789", 0xcbf4_3926), ("a", 0xe8b7_be43)] as [(String, UInt32)] {
            #expect(Array(text.utf8).withUnsafeBytes(Checksum.crc32) == checksum)
        }
    }
}
