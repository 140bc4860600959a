import Foundation

/// The curve of a finished session.
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
    package init?(
        series: Series?, track: Track?, segments: [Segment], clock: RunClock, startsAt: Timestamp? = nil
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
        self.init()
        func add(_ time: Timestamp, isCorner: Bool) {
            let position = timeline.position(time)
            let seconds = clock == .active ? Double(position - base) / 1e6 : time.seconds(since: start)
            self.add(seconds, max(0, way.value(at: position) - meters), isCorner: isCorner)
        }
        var index = 0
        for segment in segments {
            guard let end = segment.end, end > start else { continue }
            add(max(segment.start, start), isCorner: true)
            while index < readings.count, readings[index].time <= end {
                if readings[index].time > max(segment.start, start) { add(readings[index].time, isCorner: false) }
                index += 1
            }
            add(end, isCorner: true)
        }
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

/// Stored as the differences of seconds and metres in thousandths, in bytes of seven bits.
extension RunCurve: Codable {
    private enum Key: String, CodingKey {
        case points, spacing, corner, metersPerSecond
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let speed = try container.decodeIfPresent(Double.self, forKey: .metersPerSecond) {
            self.init(pace: 1_000 / speed)
            return
        }
        var bytes = try container.decode(Data.self, forKey: .points)[...]
        func next() throws -> UInt32 {
            var (value, shift) = (UInt64(0), UInt64(0))
            while let byte = bytes.popFirst(), shift < 35 {
                value |= UInt64(byte & 0x7f) << shift
                guard byte >= 0x80 else {
                    guard let value = UInt32(exactly: value) else { break }
                    return value
                }
                shift += 7
            }
            throw DecodingError.dataCorruptedError(forKey: .points, in: container, debugDescription: "cut short")
        }
        var points: [Point] = []
        var last = Point(time: 0, metres: 0)
        while !bytes.isEmpty {
            let (time, metres) = (
                last.time.addingReportingOverflow(try next()), last.metres.addingReportingOverflow(try next())
            )
            guard !time.overflow, !metres.overflow, points.isEmpty || time.partialValue > last.time else {
                throw DecodingError.dataCorruptedError(forKey: .points, in: container, debugDescription: "out of order")
            }
            last = Point(time: time.partialValue, metres: metres.partialValue)
            points.append(last)
        }
        guard !points.isEmpty else {
            throw DecodingError.dataCorruptedError(forKey: .points, in: container, debugDescription: "at least one")
        }
        self.init(
            points: points, spacing: max(5_000, try container.decode(UInt32.self, forKey: .spacing)),
            endsInCorner: try container.decodeIfPresent(Bool.self, forKey: .corner) ?? false)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        if isEndless {
            try container.encode(metres(at: 1), forKey: .metersPerSecond)
            return
        }
        var bytes: [UInt8] = []
        func write(_ value: UInt32) {
            var rest = value
            while rest >= 0x80 {
                bytes.append(UInt8(rest & 0x7f) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        var last = Point(time: 0, metres: 0)
        for point in points {
            write(point.time - last.time)
            write(point.metres - last.metres)
            last = point
        }
        try container.encode(Data(bytes), forKey: .points)
        try container.encode(spacing, forKey: .spacing)
        if endsInCorner { try container.encode(true, forKey: .corner) }
    }
}
