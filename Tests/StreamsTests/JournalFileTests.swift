import Bus
import Foundation
import MQTT
import Storage
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// The files of a store with a journal.
struct JournalFileTests {
    private static let start = 1_700_000_000.0
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: start + 700))
    private var script = Script(start: start)

    init() throws {
        folder = try TemporaryFolder()
    }

    private func aggregator() async throws -> Aggregator {
        let store = try SQLiteStore(
            path: folder.file("store.sqlite"), schema: StreamStore.schema(SampleWork.service), shards: Set(Shard.all),
            erasureInterval: .milliseconds(20), reserveSize: 4_096)
        return try await Aggregator(store, clock: clock)
    }

    private func items(_ range: Range<Int>, heartRate: Double? = nil) -> [Sample] {
        range.map { number in
            var sample = Sample(time: Timestamp(seconds: Self.start + Double(number)))
            sample[.heartRate] = heartRate
            sample[.distance] = 3
            return sample
        }
    }

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
        var aggregator = try await aggregator()
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
}
