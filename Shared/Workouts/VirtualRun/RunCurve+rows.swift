import Foundation

/// The curve of a finished session, from which results come.
extension RunCurve {
    /// Seconds of a measured speed that count as distance, at most.
    private static let longestSpeed = 3.0

    /// Returns `nil` if nothing measured a distance.
    ///
    /// The metres are those of the workout: measured by samples, else along the track, else from measured speeds.
    ///
    /// - Parameters:
    ///   - segments: of the workout; what is before `startsAt` does not count.
    ///   - startsAt: the start of the run; the session's own start without one.
    ///   - goal: stays exact in a workout of any length.
    package init?(
        series: Series?, track: Track?, segments: [Segment], clock: RunClock, startsAt: Timestamp? = nil,
        goal: RunGoal? = nil
    ) {
        let timeline = ActiveTimeline(segments)
        guard let readings = Self.readings(series, track, timeline), let start = startsAt ?? segments.first?.start
        else {
            return nil
        }
        var way = Cumulative(capacity: readings.count)
        var previous: Int64 = 0
        for reading in readings {
            previous = max(previous, timeline.position(reading.time))
            way.add(reading.meters, at: previous)
        }
        let base = timeline.position(start)
        let meters = way.value(at: base)
        self.init(points: Points(isExact: true), spacing: 0, endsInCorner: true)
        func addTime(_ time: Timestamp, isCorner: Bool) {
            let position = timeline.position(time)
            let seconds = clock == .active ? Double(position - base) / 1e6 : time.seconds(since: start)
            addPoint(seconds, max(0, way.value(at: position) - meters), isCorner: isCorner)
        }
        var index = 0
        for segment in segments {
            guard let end = segment.end, end > start else { continue }
            addTime(max(segment.start, start), isCorner: true)
            while index < readings.count, readings[index].time <= end {
                if readings[index].time > max(segment.start, start) { addTime(readings[index].time, isCorner: false) }
                index += 1
            }
            addTime(end, isCorner: true)
        }
        thin(keeping: goal)
    }

    /// The metres since the previous reading, sorted by time.
    private static func readings(
        _ series: Series?, _ track: Track?, _ timeline: ActiveTimeline
    ) -> [(time: Timestamp, meters: Double)]? {
        if let series, let values = series[.distance] {
            return rows(series.times, values).map { ($0.time, max(0, $0.value)) }
        }
        if let track, let values = track[.distance] {
            var total = 0.0
            return rows(track.times, values).map { time, value in
                defer { total = max(total, value) }
                return (time, max(0, value - total))
            }
        }
        if let series, let values = series[.speed] {
            var previous: Int64?
            return rows(series.times, values).map { time, value in
                let position = timeline.position(time)
                defer { previous = position }
                let seconds = Double(position - (previous ?? position)) / 1e6
                return (time, max(0, value) * min(max(0, seconds), longestSpeed))
            }
        }
        return nil
    }

    private static func rows(_ times: [Timestamp], _ values: [Double?]) -> [(time: Timestamp, value: Double)] {
        let rows = zip(times, values).compactMap { time, value in value.map { (time: time, value: $0) } }
        return zip(rows, rows.dropFirst()).allSatisfy { $0.time <= $1.time } ? rows : rows.sorted { $0.time < $1.time }
    }
}

/// Stored as the differences of seconds and metres in thousandths or millionths, in bytes of seven bits.
extension RunCurve: Codable {
    private enum Key: String, CodingKey {
        /// `points` are in thousandths: those of live curves.
        case points, millionths, spacing, corner, metersPerSecond
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let speed = try container.decodeIfPresent(Double.self, forKey: .metersPerSecond) {
            self.init(pace: 1_000 / speed)
            return
        }
        let isExact = container.contains(.millionths)
        let key = isExact ? Key.millionths : .points
        var differences = Differences(try container.decode(Data.self, forKey: key))
        func next() throws -> Int64 {
            guard let value = differences.next() else {
                throw DecodingError.dataCorruptedError(
                    forKey: key, in: container, debugDescription: "cut short or out of range")
            }
            return isExact ? value : value * 1_000
        }
        var points: [Point] = []
        var last = Point(time: 0, metres: 0)
        while !differences.isEmpty {
            last = Point(time: last.time + (try next()), metres: last.metres + (try next()))
            guard last.time <= Self.bound, last.metres <= Self.bound, points.last.map({ $0.time < last.time }) ?? true
            else {
                throw DecodingError.dataCorruptedError(
                    forKey: key, in: container, debugDescription: "out of order or out of range")
            }
            points.append(last)
        }
        guard !points.isEmpty else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: container, debugDescription: "at least one point")
        }
        self.init(
            points: Points(points, isExact: isExact),
            spacing: Int64(try container.decode(UInt32.self, forKey: .spacing)) * 1_000,
            endsInCorner: try container.decodeIfPresent(Bool.self, forKey: .corner) ?? false)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        if isEndless {
            try container.encode(metres(at: 1), forKey: .metersPerSecond)
            return
        }
        var bytes: [UInt8] = []
        func write(_ value: Int64) {
            var rest = value
            while rest >= 0x80 {
                bytes.append(UInt8(rest & 0x7f) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        let unit: Int64 = points.isExact ? 1 : 1_000
        var last = Point(time: 0, metres: 0)
        for point in points.all {
            write((point.time - last.time) / unit)
            write((point.metres - last.metres) / unit)
            last = point
        }
        try container.encode(Data(bytes), forKey: points.isExact ? .millionths : .points)
        try container.encode(spacing / 1_000, forKey: .spacing)
        if endsInCorner { try container.encode(true, forKey: .corner) }
    }

    /// Millionths of a second and a metre, at most.
    private static let bound = Int64(range.upperBound * 1e6)
}

/// Numbers that are not negative, in bytes of seven bits, the lowest first.
private struct Differences {
    private let bytes: [UInt8]
    private var index = 0

    init(_ data: Data) { bytes = [UInt8](data) }

    var isEmpty: Bool { index == bytes.count }

    /// `nil` if the number is cut short or has more than 49 bits.
    mutating func next() -> Int64? {
        var value: Int64 = 0
        for shift in stride(from: 0, to: 49, by: 7) {
            guard index < bytes.count else { return nil }
            let byte = bytes[index]
            index += 1
            value |= Int64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
        }
        return nil
    }
}
