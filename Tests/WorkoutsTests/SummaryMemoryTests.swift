import Foundation
import TestSupport
import Testing

@testable import Workouts

/// The memory that final results need above the stored items, in processes of their own.
@Suite struct SummaryMemoryTests {
    /// Bytes an item. An optimized build needs less than half: it releases values after their last use.
    private static let limit = 200
    private static let count = 200_000

    @Test(arguments: [false, true])
    func `a route needs little memory, also when items arrive late`(areLate: Bool) async {
        await #expect(processExitsWith: .success) { [areLate] in
            let items = ItemSource<Location>(count: Self.count) { body in
                for index in 0..<Self.count { body(Self.location(Self.place(index, areLate))) }
            }
            Self.measure {
                let counted = CountedLocations(
                    streams: [Device("watch-1")!: items], segments: [segment(0, Double(Self.count))],
                    activity: .running, environment: .outdoor)
                let summary = counted.summary()
                return (summary.distance ?? 0, Track(consume counted).times.count)
            }
        }
    }

    @Test func `samples with lists need little memory`() async {
        await #expect(processExitsWith: .success) {
            let items = ItemSource<Sample>(count: Self.count) { body in
                for index in 0..<Self.count {
                    var sample = Sample(time: year2026 + Double(index))
                    sample[.heartRate] = Double(120 + index % 40)
                    sample[.distance] = 2.75
                    sample[all: .rrIntervals] = [Double(400 + index % 97), 451.5]
                    body(sample)
                }
            }
            Self.measure {
                let counted = CountedItems(
                    streams: [Device("watch-1")!: items], segments: [segment(0, Double(Self.count))])
                let summary = counted.summary(laps: [year2026 + 1_000], units: .metric)
                return (summary.distance ?? 0, Series(counted).times.count)
            }
        }
    }

    /// Every tenth item changes places with an earlier one.
    private static func place(_ index: Int, _ areLate: Bool) -> Int {
        guard areLate, (2...5).contains(index % 10), index % 10 != 3, index % 10 != 4 else { return index }
        return index % 10 == 2 ? index + 3 : index - 3
    }

    private static func location(_ index: Int) -> Location {
        let noise = Double(index &* 7_919 % 1_000) * 3e-8
        var location = Location(
            time: year2026 + Double(index), latitude: 47 + Double(index % 10_000) * 2e-5 + noise,
            longitude: 8 + noise)
        location[.altitude] = Double(500 + index % 100)
        location[.horizontalAccuracy] = 4
        location[.speed] = 2.5
        location[.course] = Double(index % 360)
        return location
    }

    /// Ends the process with an error if the work needs more than the limit.
    private static func measure(_ work: () -> (total: Double, rows: Int)) {
        // Large blocks go back to the system at once, as those of millions of items do.
        let mallopt = unsafeBitCast(dlsym(nil, "mallopt"), to: (@convention(c) (Int32, Int32) -> Int32).self)
        // M_MMAP_THRESHOLD, which Swift does not import.
        _ = mallopt(-3, 1 << 16)
        do {
            let before = try memory("VmRSS")
            // Resets the peak.
            try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
            let results = work()
            let used = (try memory("VmHWM") - before) / count
            precondition(results.total > 0 && results.rows > count * 9 / 10, "\(results)")
            if used > limit { exit(Int32(min(used, 255))) }
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// Bytes, from Linux's page of the process.
    private static func memory(_ key: String) throws -> Int {
        let lines = try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix(key + ":") })
        return 1024 * (try #require(Int(line.split { $0 == " " || $0 == "\t" }[1])))
    }
}
