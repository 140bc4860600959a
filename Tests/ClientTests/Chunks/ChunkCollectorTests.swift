import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client

/// Chunks that arrive before their session is requested.
@Suite struct ChunkCollectorTests {
    private static let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)

    private var collector = ChunkCollector()
    private let key = ChunkCollectorTests.key
    private let now = Moment(Timestamp(seconds: 1_800_000_000))

    private func series(_ rows: Int) -> Series {
        Series(
            times: (0..<rows).map { Timestamp(seconds: 1_700_000_000 + Double($0)) },
            columns: [.init(quantity: .heartRate, values: (0..<rows).map { Double(100 + $0 % 50) })])
    }

    private func track(_ rows: Int) -> Track {
        Track(
            times: (0..<rows).map { Timestamp(seconds: 1_700_000_000 + Double($0)) },
            columns: [.init(kind: .latitude, values: (0..<rows).map { Double($0) / 1000 })])
    }

    /// Chunks, then the summary, as their owner publishes them.
    private mutating func publish(
        _ rows: FinalRows, _ kind: ChunkKind, _ revision: Int64, of key: SessionKey = ChunkCollectorTests.key,
        leaving left: Int? = nil
    ) throws {
        for number in 0..<rows.chunkCount where number != left {
            try collector.receiveChunk(
                rows.payload(number: number, revision: revision)[...], number: number, kind: kind, of: key)
        }
        collector.receiveSummary(revision: revision, chunks: rows.chunkCount, kind: kind, of: key)
    }

    @Test mutating func `chunks that arrived before the request are complete at once`() throws {
        try publish(FinalRows(series(1_200)), .series, 5)
        try publish(FinalRows(track(600)), .track, 6)
        #expect(collector.complete.isEmpty)
        collector.want(key, summaries: ["metrics": 5, "route": 6], now: now)
        #expect(collector.complete == [key])
        let chunks = collector.take(key)
        let taken = try #require(chunks)
        #expect(try taken.series.readChunks().series == series(1_200) && taken.track.readChunks().track == track(600))
        #expect(collector.cachedBytes == 0 && collector.wantedBytes == 0 && collector.wanted.isEmpty)
        let again = collector.take(key)
        #expect(again == nil)
    }

    @Test mutating func `a kind without a summary or without chunks is complete`() throws {
        collector.want(key, summaries: [:], now: now)
        #expect(collector.complete == [key])
        collector.want(key, summaries: ["metrics": 5], now: now)
        #expect(collector.complete.isEmpty)
        collector.receiveSummary(revision: 5, chunks: 0, kind: .series, of: key)
        let taken = collector.take(key)
        #expect(try taken?.series.readChunks().series.times == [])
    }

    @Test mutating func `all chunks of the summary's revision are needed, of the workout's or a later one`() throws {
        collector.want(key, summaries: ["metrics": 5], now: now)
        try publish(FinalRows(series(1_200)), .series, 4)
        #expect(collector.complete.isEmpty)
        try publish(FinalRows(series(1_200)), .series, 6, leaving: 1)
        #expect(collector.complete.isEmpty)
        let rows = FinalRows(series(1_200))
        try collector.receiveChunk(rows.payload(number: 1, revision: 5)[...], number: 1, kind: .series, of: key)
        #expect(collector.complete.isEmpty)
        try collector.receiveChunk(rows.payload(number: 1, revision: 6)[...], number: 1, kind: .series, of: key)
        #expect(collector.complete == [key])
        try collector.receiveChunk(rows.payload(number: 1, revision: 7)[...], number: 1, kind: .series, of: key)
        #expect(collector.complete.isEmpty)
    }

    @Test mutating func `an empty chunk is invalid and changes nothing`() throws {
        collector.want(key, summaries: ["metrics": 5], now: now)
        try publish(FinalRows(series(1_200)), .series, 5)
        #expect(throws: PayloadError.self) { try collector.receiveChunk([], number: 2, kind: .series, of: key) }
        #expect(collector.complete == [key])
    }

    @Test mutating func `missing chunks are requested after 2 s and every 5 s, and expire after a minute`() {
        collector.want(key, summaries: ["metrics": 5], now: now)
        var asked: [Int] = []
        var expired: [Int] = []
        for second in 0...70 {
            let overdue = collector.advance(to: now + Double(second))
            if overdue.requests == [key] { asked.append(second) }
            if overdue.expired == [key] { expired.append(second) }
        }
        #expect(asked == Array(stride(from: 2, to: 60, by: 5)) && expired == [60])
        #expect(collector.wanted.isEmpty && collector.wantedBytes == 0)
    }

    @Test mutating func `complete sessions are not requested`() throws {
        try publish(FinalRows(series(3)), .series, 5)
        collector.want(key, summaries: ["metrics": 5], now: now)
        let overdue = collector.advance(to: now + 30)
        #expect(overdue.requests.isEmpty && overdue.expired.isEmpty)
    }

    @Test mutating func `invalid chunks are an error and are removed`() throws {
        collector.want(key, summaries: ["metrics": 5], now: now)
        let payload = Array(#"{"columns":{"c":[1,2],"h":[3]},"n":0,"of":1,"revision":5}"#.utf8)
        try collector.receiveChunk(payload[...], number: 0, kind: .series, of: key)
        collector.receiveSummary(revision: 5, chunks: 1, kind: .series, of: key)
        let taken = collector.take(key)
        #expect(throws: PayloadError.self) { try taken?.series.readChunks() }
        #expect(collector.wanted.isEmpty && collector.wantedBytes == 0)
        #expect(throws: PayloadError.self) {
            try collector.receiveChunk(Array("nonsense".utf8)[...], number: 0, kind: .series, of: key)
        }
    }

    @Test mutating func `chunks with another number or count are an error`() throws {
        collector.want(key, summaries: ["metrics": 5], now: now)
        let rows = FinalRows(series(1_200))
        for (number, stated) in [(0, 1), (1, 0), (2, 2)] {
            try collector.receiveChunk(
                rows.payload(number: stated, revision: 5)[...], number: number, kind: .series, of: key)
        }
        collector.receiveSummary(revision: 5, chunks: 3, kind: .series, of: key)
        let taken = collector.take(key)
        #expect(throws: PayloadError.self) { try taken?.series.readChunks() }
    }

    @Test mutating func `the keys of a chunk may have any order`() throws {
        collector.want(key, summaries: ["metrics": 5], now: now)
        let payload = Array(#"{ "revision": 5, "n": 0, "of": 1, "columns": {"c": [1], "h": [60]} }"#.utf8)
        try collector.receiveChunk(payload[...], number: 0, kind: .series, of: key)
        collector.receiveSummary(revision: 5, chunks: 1, kind: .series, of: key)
        let taken = collector.take(key)
        #expect(try taken?.series.readChunks().series[.heartRate] == [60])
    }

    @Test mutating func `a full cache evicts the oldest session and no requested one`() throws {
        collector = ChunkCollector(limits: .init(cache: 200_000, session: 100_000, wanted: 100_000))
        let rows = FinalRows(series(512))
        func session(_ number: Int) -> SessionKey {
            SessionKey(User("u\(number)")!, key.session)
        }
        try publish(rows, .series, 5, of: key)
        collector.want(key, summaries: ["metrics": 5], now: now)
        for number in 0..<200 {
            try publish(rows, .series, 5, of: session(number))
            #expect(collector.cachedBytes <= 200_000)
        }
        #expect(collector.complete == [key])
        for number in [0, 199] { collector.want(session(number), summaries: ["metrics": 5], now: now) }
        #expect(collector.complete == [key, session(199)].sorted())
    }

    @Test mutating func `one session has a limit`() throws {
        collector = ChunkCollector(limits: .init(cache: 1 << 20, session: 20_000, wanted: 30_000))
        try publish(FinalRows(series(20_000)), .series, 5)
        #expect(collector.cachedBytes <= 20_000)
        let other = SessionKey(User("bert")!, key.session)
        for key in [key, other] { collector.want(key, summaries: ["metrics": 6], now: now) }
        for key in [key, other] { try publish(FinalRows(series(20_000)), .series, 6, of: key) }
        #expect(collector.complete.isEmpty && collector.wantedBytes <= 30_000 + 2 * 1_024)
    }

    @Test mutating func `a removed session leaves nothing`() throws {
        try publish(FinalRows(series(600)), .series, 5)
        collector.want(key, summaries: ["metrics": 5], now: now)
        collector.drop { $0 == key }
        #expect(collector.wanted.isEmpty && collector.wantedBytes == 0 && collector.complete.isEmpty)
    }

    @Test mutating func `the chunks of a large session are in a file`() throws {
        let folder = try TemporaryFolder()
        collector = ChunkCollector(limits: .files, folder: folder.path)
        collector.want(key, summaries: ["metrics": 6, "route": 6], now: now)
        // Numbers arrive in any order and repeatedly, and those of an older revision before.
        var random = SeededRandom()
        let (series, track) = (FinalRows(series(150_000)), FinalRows(track(600)))
        for (revision, count) in [(Int64(5), 200), (6, series.chunkCount)] {
            let numbers = Array(0..<count)
            for number in numbers.shuffled(using: &random) + numbers.prefix(20) {
                let payload = series.payload(number: number, revision: revision)
                try collector.receiveChunk(payload[...], number: number, kind: .series, of: key)
                #expect(collector.wantedBytes < 2 * ChunkSet.memoryLimit)
            }
        }
        collector.receiveSummary(revision: 6, chunks: series.chunkCount, kind: .series, of: key)
        try publish(track, .track, 6)
        let payloads = (0..<series.chunkCount).reduce(0) { $0 + series.payload(number: $1, revision: 6).count }
        #expect(collector.fileBytes == payloads)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        let chunks = collector.take(key)
        let taken = try #require(chunks)
        #expect(try taken.series.readChunks().series == self.series(150_000))
        #expect(try taken.track.readChunks().track == self.track(600))
        #expect(collector.fileBytes == 0 && collector.wantedBytes == 0)
    }

    @Test mutating func `files of unwanted sessions have a limit, and the oldest session is evicted`() throws {
        let folder = try TemporaryFolder()
        collector = ChunkCollector(limits: .init(cacheFiles: 5 << 20, session: 1 << 30), folder: folder.path)
        let rows = FinalRows(series(150_000))
        for number in 0..<6 {
            try publish(rows, .series, 5, of: SessionKey(User("u\(number)")!, key.session))
            #expect(collector.fileBytes <= 5 << 20)
        }
        for number in [0, 5] {
            collector.want(SessionKey(User("u\(number)")!, key.session), summaries: ["metrics": 5], now: now)
        }
        #expect(collector.complete == [SessionKey(User("u5")!, key.session)])
    }

    @Test mutating func `chunks that cannot be written are missing`() throws {
        collector = ChunkCollector(folder: "/dev/null/folder")
        collector.want(key, summaries: ["metrics": 5], now: now)
        try publish(FinalRows(series(150_000)), .series, 5)
        #expect(collector.complete.isEmpty && collector.problem(of: key)?.code == ENOTDIR)
        #expect(collector.wantedBytes < 2 * ChunkSet.memoryLimit)
    }
}
