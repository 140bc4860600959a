/// Finds the fastest time of each of an activity's distances.
///
/// Distance accrues evenly over the active time between readings and stands still in pauses, which count as elapsed
/// time. The fastest time of a distance begins or ends at a reading or a pause, or equals one that does. So two
/// passes over the readings find it.
struct BestTimes {
    /// A longer stretch of active time without readings is part of no best.
    private static let silence = 30e6
    /// The metres of a sensor that measured nothing for so long may arrive at once.
    private static let burst: Int64 = 15_000_000
    /// Metres beyond which sums leave the integers.
    private static let farthest = 4e12

    private struct Best {
        /// Milliseconds.
        let duration: Int64
        /// Elapsed microseconds at its beginning.
        let start: Double
    }

    private let timeline: ActiveTimeline
    private let distances: BestDistances
    private var bests: [Best?]

    // The points of the current line: elapsed microseconds, and micrometres, in integers so that sums that are equal
    // compare as equal.
    private var times: [Int64] = []
    private var meters: [Int64] = []
    /// In a pool, the moments at which a length that begins at a point leaves the wall.
    private var departures: [Int64] = []
    /// The segment of the last point.
    private var segment = 0

    init(_ distances: BestDistances, _ timeline: ActiveTimeline) {
        self.distances = distances
        self.timeline = timeline
        bests = [Best?](repeating: nil, count: distances.lengths.count)
    }

    /// The results; of equal times the first counts.
    var found: [Bests.Distance] {
        zip(distances.lengths, bests).compactMap { length, best in
            best.map {
                let position = timeline.position(elapsed: Int64($0.start.rounded()))
                return Bests.Distance(
                    m: length, s: Double($0.duration) / 1_000, t: thousandths(Double(position) / 1e6))
            }
        }
    }

    /// Searches a distance.
    mutating func search(_ way: Cumulative) {
        let lines = lines(of: way) { _ in Self.silence }
        for line in lines {
            times.removeAll(keepingCapacity: true)
            meters.removeAll(keepingCapacity: true)
            for index in line {
                if index > line.lowerBound { addPauses(way, before: index) }
                let (position, sum) = way[index]
                while segment + 1 < timeline.count, timeline.positions(segment).upperBound < position { segment += 1 }
                addPoint(position, sum)
            }
            for (number, length) in distances.lengths.enumerated() { search(Int64((length * 1e6).rounded()), number) }
        }
    }

    private mutating func addPoint(_ position: Int64, _ sum: Double) {
        times.append(timeline.elapsed(position, in: segment))
        meters.append(Int64((min(sum, Self.farthest) * 1e6).rounded()))
    }

    /// Adds both ends of the pauses between a reading and the one before. What is measured at the very edge of a pause
    /// counts before it.
    private mutating func addPauses(_ way: Cumulative, before index: Int) {
        let (from, to) = (way[index - 1], way[index])
        while segment + 1 < timeline.count, case let end = timeline.positions(segment).upperBound, end < to.position {
            let share = Double(end - from.position) / Double(to.position - from.position)
            let sum = from.sum + (to.sum - from.sum) * share
            addPoint(end, sum)
            segment += 1
            addPoint(end, sum)
        }
    }

    /// The readings between silences and jumps.
    ///
    /// - Parameter silence: the microseconds that some metres may take, at most.
    private func lines(of way: Cumulative, silence: (Double) -> Double) -> [Range<Int>] {
        var lines: [Range<Int>] = []
        var (start, first) = (0, 0)
        for index in 1..<max(1, way.count) {
            let (from, to) = (way[index - 1], way[index])
            let (span, amount) = (to.position - from.position, to.sum - from.sum)
            var isBroken = Double(span) > silence(amount)
            if !isBroken, amount > distances.fastest * Double(span) / 1e6 + 1e-6 {
                while first + 1 < index, way[first + 1].position <= to.position - Self.burst { first += 1 }
                let before = sum(of: way, at: to.position - Self.burst, after: first)
                isBroken = to.sum - before > distances.fastest * Double(Self.burst) / 1e6 + 1e-6
            }
            guard isBroken else { continue }
            lines.append(start..<index)
            start = index
        }
        lines.append(start..<way.count)
        return lines.filter { $0.count > 1 }
    }

    private func sum(of way: Cumulative, at position: Int64, after index: Int) -> Double {
        let (from, to) = (way[index], way[index + 1])
        guard position > from.position else { return from.sum }
        return from.sum + (to.sum - from.sum) * Double(position - from.position) / Double(to.position - from.position)
    }

    /// Searches the line for a length in micrometres.
    private mutating func search(_ length: Int64, _ number: Int) {
        guard let last = meters.last, last - meters[0] >= length else { return }
        // Times that begin at a point: the last one before the distance grows.
        var end = 0
        for start in meters.indices.dropLast() where meters[start + 1] > meters[start] {
            let goal = meters[start] + length
            guard goal <= last else { break }
            while meters[end] < goal { end += 1 }
            offer(number, length, from: Double(times[start]), to: time(of: goal, between: end - 1, and: end))
        }
        // Times that end at a point: the first one after the distance grew.
        var start = 0
        for end in meters.indices.dropFirst() where meters[end] > meters[end - 1] {
            let goal = meters[end] - length
            guard goal >= meters[0] else { continue }
            while meters[start + 1] <= goal { start += 1 }
            offer(number, length, from: time(of: goal, between: start, and: start + 1), to: Double(times[end]))
        }
    }

    private func time(of goal: Int64, between first: Int, and second: Int) -> Double {
        let share = Double(goal - meters[first]) / Double(meters[second] - meters[first])
        return Double(times[first]) + share * Double(times[second] - times[first])
    }

    private mutating func offer(_ number: Int, _ length: Int64, from start: Double, to end: Double) {
        guard Double(length) <= distances.fastest * (end - start) else { return }
        let duration = Int64(((end - start) / 1_000).rounded())
        if let best = bests[number], (best.duration, best.start) <= (duration, start) { return }
        bests[number] = Best(duration: duration, start: start)
    }
}

/// Times of whole lengths in a pool.
extension BestTimes {
    /// Searches lengths, in metres.
    ///
    /// - Parameters:
    ///   - way: the distance while lengths are swum; it shows the rests at the wall.
    ///   - slowest: seconds per metre of the slowest swimmer: a length may take that long.
    mutating func search(lengths: Cumulative, way: Cumulative, slowest: Double) {
        let lines = lines(of: lengths) { max(Self.silence, $0 * slowest * 1e6) }
        for line in lines {
            times.removeAll(keepingCapacity: true)
            meters.removeAll(keepingCapacity: true)
            departures.removeAll(keepingCapacity: true)
            for index in line {
                let (position, sum) = lengths[index]
                while segment + 1 < timeline.count, timeline.positions(segment).upperBound < position { segment += 1 }
                addPoint(position, sum)
                departures.append(departure(way.departure(from: position)))
                guard let last = times.indices.dropLast().last else { continue }
                // A device that adds a length's metres at its end shows no departure.
                let fastest = distances.fastest * Double(times[last + 1] - departures[last])
                if Double(meters[last + 1] - meters[last]) > fastest {
                    departures[last] = departure(lengths[index - 1].position)
                }
            }
            for (number, length) in distances.lengths.enumerated() {
                searchWhole(Int64((length * 1e6).rounded()), number)
            }
        }
    }

    /// Elapsed microseconds at a position from the current segment on; between two segments, at the start of the later.
    private func departure(_ position: Int64) -> Int64 {
        var index = segment
        while index + 1 < timeline.count, timeline.positions(index).upperBound <= position { index += 1 }
        while index > 0, timeline.positions(index).lowerBound > position { index -= 1 }
        return timeline.elapsed(position, in: index)
    }

    private mutating func searchWhole(_ length: Int64, _ number: Int) {
        var end = 0
        for start in meters.indices.dropLast() where meters[start + 1] > meters[start] {
            while end < meters.count, meters[end] < meters[start] + length { end += 1 }
            guard end < meters.count else { return }
            let from = Double(departures[start])
            offer(number, meters[end] - meters[start], from: from, to: Double(times[end]))
        }
    }
}

extension CountedItems {
    /// The fastest times of a session's distance; `nil` without any.
    func bestTimes(_ way: Way, _ activity: Activity, poolLength: Double?) -> [Bests.Distance]? {
        guard let distances = activity.bestDistances, timeline.count > 0 else { return nil }
        var search = BestTimes(distances, timeline)
        if activity.isSwimming, let poolLength {
            let counted = has(.poolLengths) ? readings(.poolLengths) : nil
            let lengths = counted.map { Cumulative($0, timeline, scale: poolLength) } ?? way.meters
            search.search(lengths: lengths, way: way.meters, slowest: (activity.slowestPace ?? 0) / 1_000)
        } else {
            search.search(way.meters)
        }
        return search.found.isEmpty ? nil : search.found
    }
}
