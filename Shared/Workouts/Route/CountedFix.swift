/// The part of an accepted fix that totals, lines and the track need.
struct CountedFix {
    let time: Timestamp
    let latitude: Double
    let longitude: Double
    /// The start of its segment.
    let segment: Int64
    /// The number of its item in the stream.
    let number: Int
    let hasAltitude: Bool
    /// Whether a new line starts here.
    var startsLine: Bool
    /// m/s; `nan` if unknown.
    let speed: Double
    /// Metres since the previous fix, as in ``AcceptedFix``.
    let distance: Double
    let ascent: Double
    let descent: Double

    var coordinate: Coordinate { Coordinate(latitude: latitude, longitude: longitude) }
}

extension CountedFix {
    init(_ accepted: AcceptedFix) {
        let fix = accepted.fix
        self.init(
            time: Timestamp(microseconds: fix.time), latitude: fix.latitude, longitude: fix.longitude,
            segment: fix.segment, number: Int(fix.number), hasAltitude: !fix.altitude.isNaN,
            startsLine: fix.startsLine, speed: accepted.speed, distance: accepted.distance, ascent: accepted.ascent,
            descent: accepted.descent)
    }
}

/// A location with an altitude and no position.
struct CountedAltitude: Sendable {
    let time: Timestamp
    /// The number of its item in the stream.
    let number: UInt32
    let source: UInt16
}

/// The accepted fixes of one source in columns: 60 bytes each.
struct SourceColumns: Sendable {
    private(set) var times: [Timestamp] = []
    private var latitudes: [Double] = []
    private var longitudes: [Double] = []
    private var speeds: [Double] = []
    /// The contributions to the totals.
    var distances: [Double] = []
    var ascents: [Double] = []
    var descents: [Double] = []
    /// The number of the item in the high bits, then ``CountedFix/hasAltitude`` and ``CountedFix/startsLine``.
    private var marks: [UInt32] = []
    /// The first fix of each segment, and the segment's start.
    private var segments: [(first: Int, start: Int64)] = []

    init(capacity: Int) {
        times.reserveCapacity(capacity)
        latitudes.reserveCapacity(capacity)
        longitudes.reserveCapacity(capacity)
        speeds.reserveCapacity(capacity)
        distances.reserveCapacity(capacity)
        ascents.reserveCapacity(capacity)
        descents.reserveCapacity(capacity)
        marks.reserveCapacity(capacity)
    }

    mutating func append(_ accepted: AcceptedFix) {
        let fix = CountedFix(accepted)
        if fix.segment != segments.last?.start { segments.append((times.count, fix.segment)) }
        times.append(fix.time)
        latitudes.append(fix.latitude)
        longitudes.append(fix.longitude)
        speeds.append(fix.speed)
        distances.append(fix.distance)
        ascents.append(fix.ascent)
        descents.append(fix.descent)
        marks.append(UInt32(fix.number) << 2 | (fix.hasAltitude ? 2 : 0) | (fix.startsLine ? 1 : 0))
    }

    subscript(row: Int) -> CountedFix {
        let segment = segments.count == 1 ? 1 : segments.partitioningIndex { $0.first > row }
        return CountedFix(
            time: times[row], latitude: latitudes[row], longitude: longitudes[row],
            segment: segments[segment - 1].start, number: Int(marks[row] >> 2), hasAltitude: marks[row] & 2 != 0,
            startsLine: marks[row] & 1 != 0, speed: speeds[row], distance: distances[row], ascent: ascents[row],
            descent: descents[row])
    }

    var count: Int { times.count }

    /// Adds ascent and descent to the last fix.
    mutating func addToLast(ascent: Double, descent: Double) {
        guard !times.isEmpty else { return }
        ascents[times.count - 1] += ascent
        descents[times.count - 1] += descent
    }

    var totals: RouteTotals {
        var totals = RouteTotals()
        for row in times.indices { totals.addCountedFix(self[row]) }
        return totals
    }
}

/// The fixes of all sources that count, sorted by time.
struct CountedFixes: RandomAccessCollection, Sendable {
    private struct Place {
        let source: UInt16
        let row: UInt32
    }

    private(set) var sources: [SourceColumns]
    /// The place of each fix; empty with one source, whose fixes all count.
    private var places: [Place] = []

    /// - Parameter sources: the preferred source first.
    init(_ sources: [SourceColumns], _ timeline: ActiveTimeline) {
        self.sources = sources
        guard sources.count > 1 else { return }
        places.reserveCapacity(sources.reduce(0) { $0 + $1.count })
        let times = sources.map(\.times)
        GapFilling(times, timeline).visit { places.append(Place(source: UInt16($0), row: UInt32($1))) }
        countDeltas(\.distances)
        countDeltas(\.ascents)
        countDeltas(\.descents)
    }

    var startIndex: Int { 0 }
    var endIndex: Int { sources.count > 1 ? places.count : sources.first?.count ?? 0 }

    subscript(index: Int) -> CountedFix {
        let (source, row) = place(index)
        return sources[source][row]
    }

    func source(_ index: Int) -> Int { place(index).source }

    var times: [Timestamp] { sources.count == 1 ? sources[0].times : map(\.time) }

    private func place(_ index: Int) -> (source: Int, row: Int) {
        sources.count > 1 ? (Int(places[index].source), Int(places[index].row)) : (0, index)
    }

    private func time(_ index: Int) -> Timestamp {
        let (source, row) = place(index)
        return sources[source].times[row]
    }

    /// Converts deltas to their contributions to the sum, as ``Selection/countDeltas()`` does.
    private mutating func countDeltas(_ column: WritableKeyPath<SourceColumns, [Double]>) {
        var sums = [0.0]
        sums.reserveCapacity(count + 1)
        for index in indices {
            let (source, row) = place(index)
            var before = 0
            if row > 0 {
                let previous = sources[source].times[row - 1]
                before = (0..<index).partitioningIndex { time($0) > previous }
            }
            let value = Swift.max(0, sources[source][keyPath: column][row] - (sums[index] - sums[before]))
            sources[source][keyPath: column][row] = value
            sums.append(sums[index] + value)
        }
    }
}
