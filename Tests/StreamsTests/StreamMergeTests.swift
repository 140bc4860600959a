import Bus
import Foundation
import Storage
import TestSupport
import Testing
import Workouts

@testable import Streams

/// A stream after a restart: its chunks and the journal.
struct StreamMergeTests {
    private func items(_ range: Range<Int>) -> [Sample] {
        range.map { number in
            var sample = Sample(time: number % 7 == 6 ? nil : Timestamp(seconds: 1_700_000_000 + Double(number) * 1.5))
            if sample.time != nil { sample[.heartRate] = Double(90 + number % 50) }
            return sample
        }
    }

    /// What the store has of a stream.
    private struct Disk {
        var chunks: [Int: [UInt8]] = [:]
        var journal: [(first: Int, bytes: [UInt8])] = []

        var last: (number: Int, bytes: [UInt8])? { chunks.keys.max().map { ($0, chunks[$0]!) } }

        mutating func write(_ staged: StagedItems) {
            for chunk in staged.chunks { chunks[chunk.number] = chunk.bytes }
            if let entry = staged.entry { journal.append(entry) }
        }

        /// Moves the journal into chunks, as a gain does. Returns how many entries are void.
        mutating func merge() throws -> Int {
            var merge = try StreamMerge<Sample>(last: last)
            for entry in journal { merge.add(entry.first, entry.bytes) }
            let moved = StoredStream(merge, first: chunks[0])
            for chunk in merge.chunks { chunks[chunk.number] = chunk.bytes }
            journal = []
            if let first = chunks[0], let last {
                let stored = try StoredStream<Sample>(first: first, last: last.bytes, number: last.number)
                // A merge knows more: the last chunk may have no item with a time.
                #expect(moved != nil || !stored.knowsLastTime)
                if let moved {
                    #expect(moved.next == stored.next && moved.chunk == stored.chunk)
                    #expect(moved.firstTime == stored.firstTime)
                    #expect(moved.lastTime == stored.lastTime || !stored.knowsLastTime)
                }
            }
            return merge.ignored
        }

        func stream() throws -> ItemStream<Sample> {
            guard let first = chunks[0], let last else { return ItemStream() }
            return try ItemStream(first: first, last: last.bytes, number: last.number)
        }

        func items() throws -> [Sample] {
            try chunks.sorted { $0.key < $1.key }.flatMap { try ItemChunk<Sample>.items($0.value) }
        }
    }

    @Test func `items one by one go to the journal, a full chunk to the chunks, and the last one when it is saved`()
        throws
    {
        let stream = ItemStream<Sample>()
        var disk = Disk()
        for number in 0..<130 {
            _ = stream.receive(SampleBatch(first: number, items: items(number..<number + 1)))
            disk.write(stream.stage())
            stream.committed()
        }
        #expect(stream.next == 130 && stream.saved == 128 && stream.unsaved?.number == 1)
        #expect(Array(disk.chunks.keys) == [0] && disk.journal.map(\.first) == Array(0..<127) + [128, 129])
        disk.write(stream.stage(saves: true))
        stream.committed()
        #expect(stream.saved == 130 && stream.unsaved == nil)
        #expect(try disk.items() == items(0..<130))
        #expect(stream.stage(saves: true).chunks.isEmpty)
    }

    @Test func `a bulk upload journals only what follows its last full chunk`() throws {
        let stream = ItemStream<Sample>()
        _ = stream.receive(SampleBatch(first: 0, items: items(0..<300)))
        let staged = stream.stage()
        #expect(staged.chunks.map(\.number) == [0, 1] && staged.entry?.first == 256)
        let entry = try ItemChunk<Sample>.items(entry: try #require(staged.entry).bytes)
        #expect(entry == items(256..<300))
    }

    @Test func `a crash at any point loses no committed item and counts none twice`() throws {
        var random = SeededRandom()
        for _ in 0..<60 {
            let total = Int.random(in: 1...700, using: &random)
            var stream = ItemStream<Sample>()
            var disk = Disk()
            while stream.next < total {
                let first = Int.random(in: max(0, stream.next - 20)...stream.next, using: &random)
                let size = [1, 3, 40, 200].randomElement(using: &random)!
                let end = min(total, first + Int.random(in: 1...size, using: &random))
                _ = stream.receive(SampleBatch(first: first, items: items(first..<end)))
                let staged = stream.stage(saves: Int.random(in: 0..<5, using: &random) == 0)
                var crashes = Int.random(in: 0..<10, using: &random) == 0
                switch Int.random(in: 0..<12, using: &random) {
                case 0: stream.discardPending()
                case 1:
                    // A commit that threw may be there at the next start.
                    disk.write(staged)
                    stream.discardPending()
                    crashes = true
                default:
                    disk.write(staged)
                    stream.committed()
                }
                guard crashes else {
                    if stream.saved == stream.next, Bool.random(using: &random) { disk.journal = [] }
                    continue
                }
                let acknowledged = stream.next
                if Bool.random(using: &random) {
                    // The first attempt ends before the journal is removed.
                    var attempt = disk
                    _ = try attempt.merge()
                    disk.chunks = attempt.chunks
                }
                let ignored = try disk.merge()
                stream = try disk.stream()
                #expect(ignored == 0 && stream.next >= acknowledged, "seed \(random.seed)")
            }
            _ = try disk.merge()
            #expect(try disk.items() == items(0..<total), "seed \(random.seed)")
        }
    }

    @Test func `after a bad entry a stream continues at its first number`() throws {
        var random = SeededRandom()
        for _ in 0..<40 {
            let total = Int.random(in: 20...400, using: &random)
            var stream = ItemStream<Sample>()
            var disk = Disk()
            while stream.next < total {
                let end = min(total, stream.next + Int.random(in: 1...30, using: &random))
                _ = stream.receive(SampleBatch(first: stream.next, items: items(stream.next..<end)))
                disk.write(stream.stage())
                stream.committed()
            }
            guard let bad = disk.journal.indices.randomElement(using: &random) else { continue }
            let entry = disk.journal.remove(at: bad)
            let later = disk.journal[bad...].count
            let isNeeded = entry.first >= (disk.chunks.keys.max().map { ($0 + 1) * 128 } ?? 0)
            #expect(try disk.merge() == (isNeeded ? later : 0), "seed \(random.seed)")
            stream = try disk.stream()
            #expect(stream.next == (isNeeded ? entry.first : total), "seed \(random.seed)")
            guard stream.next < total else { continue }
            _ = stream.receive(SampleBatch(first: stream.next, items: items(stream.next..<total)))
            disk.write(stream.stage(saves: true))
            #expect(try disk.items() == items(0..<total), "seed \(random.seed)")
        }
    }

    @Test func `damaged entries never trap`() throws {
        var random = SeededRandom()
        var merge = try StreamMerge<Sample>(last: nil)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            merge.add(0, bytes)
        }
        #expect(merge.ignored > 0)
    }

    @Test func `the last chunk is found near the journal's first item with one read`() throws {
        let key = SessionKey(User("demo")!, SessionID(UUID()))
        for count in [0, 1, 2, 3, 30, 300] {
            for near in [0, 1, 2, 29, 30, 31, 300] {
                var search = StreamSearch(key, Device("watch-1")!, near: near)
                var reads = 0
                while !search.isDone {
                    reads += 1
                    for asked in search.keys {
                        let number = try #require(StreamStore.chunk(asked.key)).number
                        search.answer(number < count ? [UInt8(number & 0xff)] : nil)
                    }
                }
                #expect(search.last?.number == (count == 0 ? nil : count - 1), "\(count) near \(near)")
                if near == count || near == count - 1 { #expect(reads == 1, "\(count) near \(near)") }
            }
        }
    }
}
