import Synchronization
import TestSupport
import Testing

@testable import Formats
@testable import Workouts

/// Workouts whose rows come in chunks.
@Suite struct ChunkedExportTests {
    @Test func `any division into chunks gives the same files`() throws {
        var random = SeededRandom()
        for round in 0..<100 {
            let rows = try random.workoutRows()
            let whole = ExportedWorkout(workout: rows.workout, series: rows.series, track: rows.track)
            let cut = try ExportedWorkout(
                workout: rows.workout,
                series: ChunkedRows(random.ranges(rows.series.times.count).map { rows.series.rows($0) }),
                track: ChunkedRows(random.ranges(rows.track.times.count).map { rows.track.rows($0) }))
            for format in ExportFormat.allCases {
                #expect(try format.file(of: cut) == format.bytes(of: whole), "round \(round), \(format)")
            }
        }
    }

    @Test(arguments: ExportFormat.allCases)
    func `a large file comes in pieces, and each pass reads each chunk once`(format: ExportFormat) throws {
        let (chunks, chunkRows) = (40, 500)
        let workout = try PlayedWorkout(Recording(.running)).workout
        let reads = ReadCounter()
        let exported = try ExportedWorkout(
            workout: workout,
            series: ChunkedRows(count: chunks) { number in
                reads.add(number)
                let times = (0..<chunkRows).map { Recording.begin + Double(number * chunkRows + $0) / 1_000 }
                return Series(
                    times: times,
                    columns: [
                        .init(quantity: .distance, values: times.map { _ in 3 }),
                        .init(quantity: .heartRate, values: times.map { _ in 140 }),
                    ])
            }, track: ChunkedRows(count: 0) { _ in Track(times: [], columns: []) })
        var (sizes, before) = ([Int](), reads.count)
        _ = try format.write(exported) { sizes.append($0.count) }
        #expect(reads.count - before == chunks)
        #expect(reads.largestGap == 1)
        #expect(sizes.allSatisfy { $0 < 80_000 })
        // Points without a place are not in a GPX file, and a FIT file has one record a second.
        if ![.gpx, .fit].contains(format) { #expect(sizes.count > 5) }
        before = reads.count
        _ = try format.write(exported) { _ in }
        #expect(reads.count - before == chunks)
    }

    @Test(arguments: ExportFormat.allCases)
    func `a chunk that cannot be read is an error`(format: ExportFormat) throws {
        struct Corrupt: Error {}
        let reads = ReadCounter()
        let workout = try PlayedWorkout(Recording(.running)).workout
        let exported = try ExportedWorkout(
            workout: workout, series: ChunkedRows(count: 0) { _ in Series(times: [], columns: []) },
            track: ChunkedRows(count: 3) { number in
                reads.add(number)
                if reads.count > 5 { throw Corrupt() }
                return Track(times: [Recording.begin + Double(number)], columns: [])
            })
        #expect(throws: Corrupt.self) { try format.write(exported) { _ in } }
    }
}

/// Counts the chunks that were read.
private final class ReadCounter: Sendable {
    private let state = Mutex<(count: Int, last: Int, largestGap: Int)>((0, -1, 0))

    var count: Int { state.withLock(\.count) }
    /// Between the numbers of two reads of one pass.
    var largestGap: Int { state.withLock(\.largestGap) }

    func add(_ number: Int) {
        state.withLock { state in
            state.count += 1
            if number > state.last { state.largestGap = max(state.largestGap, number - state.last) }
            state.last = number
        }
    }
}

extension ChunkedRows {
    fileprivate init(_ chunks: [Rows]) {
        self.init(count: chunks.count) { chunks[$0] }
    }
}

extension SeededRandom {
    /// Ranges that cover 0..<count, some of them empty.
    fileprivate mutating func ranges(_ count: Int) -> [Range<Int>] {
        let cuts = (0..<Int.random(in: 0...6, using: &self)).map { _ in Int.random(in: 0...count, using: &self) }
        let bounds = ([0, count] + cuts).sorted()
        return zip(bounds, bounds.dropFirst()).map { $0..<$1 }
    }
}

extension Series {
    fileprivate func rows(_ range: Range<Int>) -> Series {
        Series(
            times: Array(times[range]),
            columns: columns.map { column in .init(quantity: column.quantity, lists: range.map { column[all: $0] }) })
    }
}

extension Track {
    fileprivate func rows(_ range: Range<Int>) -> Track {
        Track(
            times: Array(times[range]),
            columns: columns.map { column in .init(kind: column.kind, values: range.map { column[$0] }) })
    }
}
