import Bus
import Foundation
import MQTT
import Storage
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// The files of a store with a journal, and a store of the version before it.
struct JournalFileTests {
    private static let start = 1_700_000_000.0
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: start + 700))
    private var script = Script(start: start)
    private let segments = [Segment(start: Timestamp(seconds: start), end: Timestamp(seconds: start + 299))]

    init() throws {
        folder = try TemporaryFolder()
    }

    private func aggregator(_ folder: TemporaryFolder) async throws -> Aggregator {
        let store = try SQLiteStore(
            path: path(folder), schema: StreamStore.schema(SampleWork.service), shards: Set(Shard.all),
            erasureInterval: .milliseconds(20), reserveSize: 4_096)
        return try await Aggregator(store, clock: clock)
    }

    private func path(_ folder: TemporaryFolder) -> String { folder.file("store.sqlite") }

    private func items(_ range: Range<Int>, heartRate: Double? = nil) -> [Sample] {
        range.map { number in
            var sample = Sample(time: Timestamp(seconds: Self.start + Double(number)))
            sample[.heartRate] = heartRate
            sample[.distance] = 3
            return sample
        }
    }

    // MARK: Deletion

    /// The files that contain any of these bytes.
    private func files(with traces: [[UInt8]]) throws -> Set<String> {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
            let bytes = try Data(contentsOf: URL(filePath: folder.file(name)))
            return traces.contains { bytes.range(of: Data($0)) != nil }
        }
        return Set(names)
    }

    /// The service erases every 20 s, so that a minute has passed.
    @Test mutating func `40 s and an erasure after a deletion no file has bytes of the session`() async throws {
        let heartRate = 120.123456
        let other = Script("other", start: Self.start)
        let traces = [
            Array("strap-of-the-deleted".utf8), withUnsafeBytes(of: script.key.session.uuid.uuid) { Array($0) },
            withUnsafeBytes(of: heartRate.bitPattern.littleEndian) { Array($0) },
        ]
        var aggregator = try await aggregator(folder)
        try await aggregator.deliver([script.stateMessage, other.stateMessage])
        // The other session needs the same records of the journal, before the deletion and after.
        for second in 0..<200 {
            try await aggregator.deliver([
                other.batch("watch-1", second, items(second..<second + 1)),
                script.batch("strap-of-the-deleted", second, items(second..<second + 1, heartRate: heartRate)),
            ])
            clock.advance(by: .seconds(1))
            try await aggregator.tick()
        }
        for trace in traces { #expect(try !files(with: [trace]).isEmpty) }
        try await aggregator.deliver([script.change(.deleted, [])])
        for second in 200..<240 {
            try await aggregator.deliver([other.batch("watch-1", second, items(second..<second + 1))])
            clock.advance(by: .seconds(1))
            try await aggregator.tick()
        }
        let isErased = await eventually { (try? files(with: traces)) == [] }
        #expect(isErased)
        #expect(aggregator.loop.machine.sessions[other.key]?.hasUnsavedItems == true)
    }

    // MARK: A store of the version before

    /// A chunk of items a second apart, each with 3 m, as the version before the journal wrote it.
    private func earlierChunk(_ count: Int, firstTime: String) -> String {
        "x'05\(firstTime)18" + String(repeating: "0580897a18", count: count - 1) + "'"
    }

    private func earlierStore(_ ended: Script) async throws {
        func record(_ script: Script, needsSummary: Bool) -> String {
            let state = String(decoding: script.stateMessage.payload, as: UTF8.self)
            return "CAST('{\"needsSummary\":\(needsSummary),\"state\":\(state)}' AS BLOB)"
        }
        let tables = ["sessions", "chunks", "revisions", "retained", "tracks"].map { name in
            """
            CREATE TABLE "collection_\(name)" (
                shard INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (shard, key)
            ) WITHOUT ROWID;
            """
        }
        let rows = [(script, "watch-1"), (ended, "watch-1")].map { script, device in
            let (shard, key) = (script.key.session.shard.value, "\(script.key)")
            return """
                INSERT INTO collection_sessions VALUES
                    (\(shard), '\(key)', \(record(script, needsSummary: script.key == ended.key)));
                INSERT INTO collection_chunks VALUES
                    (\(shard), '\(key)/\(device)/00000000', \(earlierChunk(128, firstTime: "8080f28183898506"))),
                    (\(shard), '\(key)/\(device)/00000001', \(earlierChunk(20, firstTime: "8080fbfb83898506")));
                INSERT INTO collection_retained VALUES (\(shard), '\(key)', CAST('1700000600000000' AS BLOB));
                INSERT INTO collection_tracks VALUES (\(shard), '\(key)/a/0', x'7b7d');
                INSERT OR REPLACE INTO collection_revisions VALUES (\(shard), 'ceiling', CAST('1700000999000' AS BLOB));
                """
        }
        let start = """
            PRAGMA journal_mode = WAL;
            CREATE TABLE store (service TEXT NOT NULL, version INTEGER NOT NULL, epoch INTEGER NOT NULL);
            INSERT INTO store VALUES ('metrics-aggregator', 2, 41);
            PRAGMA user_version = 1;
            """
        try await ChildProcess.run(
            ["sqlite3", path(folder), ([start] + tables + rows).joined(separator: "\n")],
            log: folder.file("sqlite3.log"))
    }

    private func query(_ sql: String) async throws -> [String] {
        let output = try await ChildProcess.output(of: ["sqlite3", "-cmd", ".timeout 20000", path(folder), sql])
        return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Sends the rest of the items and the end. Returns the summary and its series without revisions.
    private mutating func finish(_ aggregator: inout Aggregator, from first: Int) async throws -> [String] {
        var script = script
        for next in first..<300 {
            let sent = try await aggregator.deliver([script.batch("watch-1", next, items(next..<next + 1))])
            #expect(try sent.acks(script.key, "watch-1") == [.next(next + 1)])
        }
        try await aggregator.deliver([script.change(.saving, segments)])
        let sent = try await aggregator.tick()
        let summary = try #require(sent.payloads(.session(script.key, .summaryMetrics)).last)
        let report = try JSONCoding.decode(MetricsReport.self, from: summary)
        let series = (0..<report.chunks).compactMap { sent.payloads(.session(script.key, .series($0))).last }
        #expect(series.count == report.chunks)
        return ([summary] + series).map { payload in
            String(decoding: payload, as: UTF8.self).replacing("\"revision\":\(report.revision)", with: "")
        }
    }

    @Test mutating func `a store of the version before the journal keeps everything and continues`() async throws {
        var ended = Script("ended", start: Self.start)
        _ = ended.change(.saving, segments)
        try await earlierStore(ended)
        let all = ["sessions", "chunks", "revisions", "retained", "tracks"].map {
            "SELECT '\($0)', shard, key, hex(value) FROM collection_\($0)"
        }.joined(separator: " UNION ALL ")
        let before = try await query("\(all) ORDER BY 1, 2, 3")
        var aggregator = try await aggregator(folder)
        #expect(try await query("\(all) ORDER BY 1, 2, 3") == before)
        #expect(try await query("SELECT version, epoch FROM store") == ["4|42"])

        var sent = try await aggregator.deliver([script.stateMessage, ended.stateMessage])
        // A tick reads the items of one session or more, as time permits.
        for _ in 0..<2 { sent += try await aggregator.tick() }
        #expect(try sent.acks(script.key, "watch-1") == [.next(148)])
        let live = try MetricsSnapshot(try #require(sent.payloads(.session(script.key, .metrics)).last))
        #expect(live.count == 148 && live.revision > 1_700_000_999_000)
        let summary = try #require(sent.payloads(.session(ended.key, .summaryMetrics)).last)
        let text = String(decoding: summary, as: UTF8.self)
        #expect(text.contains("\"samples/watch-1\":148") && text.contains("\"distance\":444"))

        let later = try await finish(&aggregator, from: 148)
        let other = try TemporaryFolder()
        defer { withExtendedLifetime(other) {} }
        var whole = try await self.aggregator(other)
        try await whole.deliver([script.stateMessage])
        #expect(try await finish(&whole, from: 0) == later)
        // Full chunks stay where they are, in the table that the earlier version made.
        let after = Set(try await query(all))
        let full = before.filter { $0.contains("/00000000|") }
        #expect(full.count == 2 && after.isSuperset(of: full))
        let tracks = before.filter { $0.hasPrefix("tracks|") }
        #expect(tracks.count == 2 && after.isSuperset(of: tracks))
        let sql = try await query("SELECT sql FROM sqlite_master WHERE name = 'collection_chunks'")
        #expect(sql.last == ") WITHOUT ROWID")
    }
}
