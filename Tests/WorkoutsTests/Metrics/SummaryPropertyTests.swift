import TestSupport
import Testing

@testable import Workouts

@Suite struct SummaryPropertyTests {
    @Test func `any arrival gives the same bytes`() throws {
        var random = SeededRandom()
        for _ in 0..<Tier.runs(12, nightly: 40) {
            let segments = random.segments()
            let streams = random.streams(around: segments)
            let laps = [segments[0].end!]
            let expected = CountedItems(streams: streams, segments: segments)
            for _ in 0..<3 {
                let stored = deliver(streams, &random)
                // Earlier results of partial items and older segments have no effect.
                let early = [Segment(start: segments[0].start, end: nil)]
                #expect(
                    CountedItems(streams: stored, segments: early).summary(laps: [], units: .metric).distance == nil)
                let items = CountedItems(streams: stored, segments: segments)
                let bytes = try json(items.summary(laps: laps, units: .metric))
                #expect(bytes == (try json(expected.summary(laps: laps, units: .metric))))
                #expect(Series(items) == Series(expected))
            }
        }
    }

    @Test func `columns of the series add up to the totals`() {
        var random = SeededRandom()
        for _ in 0..<60 {
            let segments = random.segments()
            let streams = random.streams(around: segments)
            let items = CountedItems(streams: streams, segments: segments)
            let totals = items.summary(laps: [], units: .metric)
            let series = Series(items)
            #expect(series.times == series.times.sorted())
            // What no device measured comes from speeds or is an estimate.
            let distance = items.way(nil, poolLength: nil)?.source == .samples ? totals.distance : nil
            let energy = totals.energySource == .estimate ? nil : totals.activeEnergy
            for (quantity, total) in [
                (Quantity.distance, distance), (.activeEnergy, energy), (.steps, totals.steps),
            ] {
                let column = series.columns.first { $0.quantity == quantity }?.values.compactMap(\.self)
                #expect((column == nil) == (total == nil), "\(quantity), seed \(random.seed)")
                guard let column, let total else { continue }
                #expect(abs(column.reduce(0, +) - total) < 0.001 + Double(column.count) * 1e-6)
                #expect(column.allSatisfy { $0 >= 0 })
                let measured = streams.values.joined().filter { item in
                    item.time.map { time in segments.contains { $0.contains(time) } } ?? false
                }
                #expect(total <= measured.compactMap { $0[quantity] }.reduce(0, +) + 0.001)
            }
            #expect(series.columns.allSatisfy { $0.values.count == series.times.count })
        }
    }

    @Test func `splits and laps add up to the totals`() throws {
        var random = SeededRandom()
        for _ in 0..<60 {
            let segments = random.segments()
            let stream = random.samples(around: segments).map { item in
                var item = item
                item[.distance] = item[.distance].map { $0 * 5 }
                return item
            }
            let mark = Timestamp(microseconds: (segments[0].start.microseconds + segments.last!.end!.microseconds) / 2)
            let totals = CountedItems(streams: [Device("watch")!: stream], segments: segments).summary(
                laps: [mark], units: .metric)
            guard let distance = totals.distance else { continue }
            #expect(abs(totals.splits.map(\.distance).reduce(0, +) - distance) < 0.01)
            #expect(abs(totals.laps.compactMap(\.distance).reduce(0, +) - distance) < 0.01)
            #expect(abs(totals.laps.map(\.duration).reduce(0, +) - segments.activeDuration()) < 0.01)
            for lap in totals.laps {
                guard let average = lap.averageHeartRate else { continue }
                #expect(average <= (try #require(lap.maximumHeartRate)) + 0.001)
            }
        }
    }

    @Test func `a weighted average equals a count second by second`() {
        var random = SeededRandom()
        for _ in 0..<100 {
            let first = Int.random(in: 20...80, using: &random)
            let second = Int.random(in: first...first + 60, using: &random)
            let bounds = [0..<first, second..<second + 40]
            let seconds = (-5..<second + 45).filter { _ in Int.random(in: 0..<12, using: &random) == 0 }
            let rates = seconds.map { _ in Double(Int.random(in: 60...180, using: &random)) }
            let result = summary(
                ["watch": zip(seconds, rates).map { sample(Double($0), [.heartRate: $1]) }],
                bounds.map { segment(Double($0.lowerBound), Double($0.upperBound)) })
            var held: [Double] = []
            for bound in bounds {
                for second in bound {
                    guard let index = seconds.lastIndex(where: { $0 <= second }), bound.contains(seconds[index]),
                        second - seconds[index] < 15
                    else { continue }
                    held.append(rates[index])
                }
            }
            guard !held.isEmpty else { continue }
            let expected = held.reduce(0, +) / Double(held.count)
            #expect(abs((result.averageHeartRate ?? 0) - expected) < 0.001)
        }
    }
}

/// The receiver of a stream. It ignores batches below and beyond the expected number.
private struct Receiver<Item> {
    var stored: [Item] = []

    mutating func take(_ batch: ArraySlice<Item>) {
        guard batch.startIndex <= stored.count, batch.endIndex > stored.count else { return }
        stored += batch[stored.count...]
    }
}

/// Sends every stream in batches of random sizes, repeated and out of order, until everything is stored.
func deliver<Item>(_ streams: [Device: [Item]], _ random: inout SeededRandom) -> [Device: [Item]] {
    var receivers: [Device: Receiver<Item>] = [:]
    var missing = streams.keys.filter { streams[$0]?.isEmpty == false }.sorted()
    while let device = missing.randomElement(using: &random) {
        let items = streams[device]!
        let next = receivers[device]?.stored.count ?? 0
        let start = Int.random(in: max(0, next - 30)...min(items.count - 1, next + 10), using: &random)
        let end = Int.random(in: start + 1...min(items.count, start + 60), using: &random)
        receivers[device, default: Receiver()].take(items[start..<end])
        if receivers[device]?.stored.count == items.count { missing.removeAll { $0 == device } }
    }
    return receivers.mapValues(\.stored)
}
