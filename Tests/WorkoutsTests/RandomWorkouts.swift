import Foundation
import TestSupport

@testable import Workouts

let year2026 = Timestamp(microseconds: 1_767_225_600_000_000)

extension SeededRandom {
    /// One to three segments of up to ten minutes, with pauses between them.
    mutating func segments() -> [Segment] {
        var time = year2026
        return (0..<Int.random(in: 1...3, using: &self)).map { _ in
            let start = time
            let end = start + Double.random(in: 0...600, using: &self)
            time = end + Double.random(in: 0...120, using: &self)
            return Segment(start: start, end: end)
        }
    }

    /// Measurements of up to three devices in and around the segments, with gaps, clocks that step backwards, empty
    /// items and items of equal time.
    mutating func streams(around segments: [Segment]) -> [Device: [Sample]] {
        let names = ["watch-3f9a", "strap-1", "phone-77", "pod", "treadmill", "watch-zz"]
        let devices = names.shuffled(using: &self).prefix(Int.random(in: 1...3, using: &self))
        var streams: [Device: [Sample]] = [:]
        for name in devices { streams[Device(name)!] = samples(around: segments) }
        return streams
    }

    mutating func samples(around segments: [Segment]) -> [Sample] {
        let end = segments.last!.end! + 30
        var time = segments[0].start - 30 + Double(Int.random(in: 0...40, using: &self))
        var samples: [Sample] = []
        while time < end {
            samples.append(Int.random(in: 0..<50, using: &self) == 0 ? Sample() : sample(at: time))
            let step: Double
            switch Int.random(in: 0..<40, using: &self) {
            case 0: step = Double.random(in: 15...90, using: &self)
            case 1: step = -Double.random(in: 0...5, using: &self)
            case 2: step = 0
            default: step = [1, 2, 5].randomElement(using: &self)!
            }
            time = time + step
        }
        return samples
    }

    mutating func sample(at time: Timestamp) -> Sample {
        var sample = Sample(time: time)
        for quantity in Quantity.allCases where Int.random(in: 0..<4, using: &self) > 0 {
            let range = quantity.isDelta ? 0...10 : quantity.range
            sample[quantity] = (Double.random(in: range, using: &self) * 100).rounded() / 100
        }
        return sample
    }
}

func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(value), as: UTF8.self)
}

/// A sample this many seconds after the start of 2026.
func sample(_ seconds: Double, _ values: [Quantity: Double]) -> Sample {
    var sample = Sample(time: year2026 + seconds)
    for (quantity, value) in values { sample[quantity] = value }
    return sample
}

/// A segment in seconds after the start of 2026.
func segment(_ start: Double, _ end: Double?) -> Segment {
    Segment(start: year2026 + start, end: end.map { year2026 + $0 })
}

func summary(
    _ streams: [String: [Sample]], _ segments: [Segment], laps: [Double] = [], units: Units = .metric,
    route: CountedLocations? = nil, physiology: Physiology = Physiology(), activity: Activity = .other,
    poolLength: Double? = nil
) -> MetricsSummary {
    let named = Dictionary(uniqueKeysWithValues: streams.map { (Device($0.key)!, $0.value) })
    return CountedItems(streams: named, segments: segments).summary(
        route: route?.input, laps: laps.map { year2026 + $0 }, units: units, physiology: physiology,
        activity: activity, poolLength: poolLength)
}
