import Bus
import Foundation
import Workouts

@testable import ServiceKit
@testable import Storage
@testable import Streams

/// What the owners of streams have stored.
extension Target {
    private static let shard = Shard(0)

    static func readChunks(_ bytes: [UInt8]) {
        let samples = readChunk(Sample.self, bytes)
        let locations = readChunk(Location.self, bytes)
        guard let watch = Device("watch") else { return }
        let times = samples.compactMap(\.time) + locations.compactMap(\.time)
        guard let first = times.min(), let last = times.max() else { return }
        // Damaged bytes may give any value: computing with it stays possible. Far from now a written time loses microseconds.
        _ = last.seconds(since: first)
        guard times.allSatisfy(AcceptedTimes(now: now).contains) else { return }
        var state = session(at: first).state(revision: 1)
        state.segments = [Segment(start: first, end: last)]
        compute(samples, laps: [], state)
        let counted = CountedLocations(
            streams: [watch: locations], segments: state.segments, activity: .running, environment: .outdoor)
        roundTrip(RouteSummary.self, JSONCoding.encode(counted.summary()))
    }

    /// Reads bytes as a stored chunk and as an entry of the journal, and returns the items of the chunk.
    private static func readChunk<Item: StreamItem>(_ type: Item.Type, _ bytes: [UInt8]) -> [Item] {
        _ = try? ItemChunk<Item>.items(entry: bytes)
        guard let items = try? ItemChunk<Item>.items(bytes), let chunk = try? ItemChunk<Item>(stored: bytes) else {
            return []
        }
        check(chunk.count, items.count)
        let written = chunkOf(items)
        // Bytes, because a value may be no number.
        check((try? ItemChunk<Item>.items(written.bytes)).map { chunkOf($0).bytes }, written.bytes)
        let entry = written.entry(since: ItemChunk<Item>().mark)
        check((try? ItemChunk<Item>.items(entry: entry)).map { chunkOf($0).bytes }, written.bytes)
        guard var merge = try? StreamMerge<Item>(last: (0, bytes)) else { return items }
        merge.add(merge.next, entry)
        merge.add(0, bytes)
        for chunk in merge.chunks { check((try? ItemChunk<Item>(stored: chunk.bytes)) != nil, true) }
        _ = StoredStream<Item>([bytes, written.bytes])
        return items
    }

    private static func chunkOf<Item: StreamItem>(_ items: [Item]) -> ItemChunk<Item> {
        var chunk = ItemChunk<Item>()
        for item in items { chunk.append(item) }
        return chunk
    }

    /// Reads bytes as a record of the journal, as they are and with valid checksums.
    static func readJournal(_ bytes: [UInt8]) {
        for record in [bytes, withChecksums(bytes)] {
            record.withUnsafeBytes { bytes in
                guard let record = JournalRecord(bytes) else { return }
                let shards = Set(record.groups.map(\.shard))
                var reader = JournalReader()
                reader.read(bytes, of: shards)
                let tail = reader.tail
                check(tail.entries.count + tail.skipped, record.bodies.count)
                let appends = tail.entries.map { JournalRecord.Append(epoch: Epoch(1), entry: $0) }
                var again = JournalReader()
                for (shards, bytes) in JournalRecord.encode(appends) {
                    bytes.withUnsafeBytes { again.read($0, of: shards) }
                }
                check(again.tail.skipped, 0)
                check(again.tail.entries.count, tail.entries.count)
                check(record.without(shards, bytes) == nil, true)
                guard let kept = record.without([], bytes) else { return check(record.groups.isEmpty, true) }
                kept.withUnsafeBytes { check(JournalRecord($0)?.bodies.count, record.bodies.count) }
            }
        }
    }

    /// A record with bytes as its bodies. Its first byte is the number of entries, the next ones their lengths.
    private static func withChecksums(_ bytes: [UInt8]) -> [UInt8] {
        let count = Int(bytes.first ?? 0) & 7
        let lengths = bytes.dropFirst().prefix(count).map(Int.init)
        var rest = bytes.dropFirst(1 + count)
        let bodies = lengths.map { length in
            defer { rest = rest.dropFirst(length) }
            return Array(rest.prefix(length))
        }
        func integer(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
        var record = [JournalRecord.version, 1, 0, 0] + [UInt8](repeating: 0, count: 8) + integer(UInt32(bodies.count))
        for body in bodies {
            record += integer(UInt32(body.count)) + integer(body.withUnsafeBytes(Checksum.crc32))
        }
        record += integer(record.withUnsafeBytes(Checksum.crc32))
        return record + bodies.joined()
    }

    static func readStreamRecord(_ bytes: [UInt8]) {
        roundTripRecord(StreamRecord<MetricsSummary>.self, bytes)
        roundTripRecord(StreamRecord<RouteSummary>.self, bytes)
        roundTrip(StoredRoute.self, bytes)
        _ = StreamStore.isDeleted(bytes)
    }

    /// Records of digits and words, and keys, one in each line.
    static func readDigits(_ bytes: [UInt8]) {
        guard let user = User("demo"), let id = SessionID("6f9619ff-8b86-4011-b42d-00c04fc964ff") else { return }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 8)
        var retention = Retention()
        let key = SessionKey(user, id)
        for line in lines {
            let text = String(decoding: line, as: UTF8.self)
            // Either case of an id is read, lower case is written.
            if let stream = StreamStore.stream(text) {
                check(StreamStore.name(stream.key, stream.device), text.lowercased())
            }
            _ = StreamStore.chunk(text)
            retention.load(key, Array(line), moment)
            _ = retention.changes(moment)
            _ = retention.value(key)
        }
        let records = lines.enumerated().map { StoreRecord(shard: Shard(UInt8($0)), key: "demo", value: Array($1)) }
        var quota = DailyQuota(limit: 1_000)
        quota.load(Array(records.prefix(3)), moment)
        quota.see(Array(records.dropFirst(3)), moment)
        _ = quota.available(to: user, moment)
        quota.spend(1, of: user, in: shard, moment)
        quota.drop([shard])
    }
}
