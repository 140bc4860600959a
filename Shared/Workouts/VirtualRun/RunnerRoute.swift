/// The route of a participant, as virtual-run stores it to share it on request.
package struct RunnerRoute: Equatable, Sendable {
    /// Vertices that are stored at most.
    static let vertexLimit = 1_000
    /// Bytes of a shared route as JSON at most, and those that its user and keys take.
    package static let sizeLimit = 4_096
    private static let frameSize = 128
    /// Metres by which the filtered track may be simplified before it is stored.
    private static let tolerance = 2.0
    /// Metres of error that no speed explains.
    private static let slack = 100.0

    /// From gap to gap, with the first and the last position of the session.
    private(set) var lines: [[RouteVertex]]
    /// Metres by which the session's start and end may be away from the first and the last position.
    private(set) var startSlack: Double
    private(set) var endSlack: Double

    /// The route as others receive it.
    package struct Shared: Equatable, Sendable {
        /// Encoded polylines with 5 digits.
        package var polyline: [String]
        /// The heart rate of each vertex; `nil` without leave.
        package var heartRates: [[Double?]]?
    }

    /// Filters the track again, because its rows are the measured positions. Returns `nil` without positions.
    package init?(track: Track, series: Series?, segments: [Segment]) {
        let (latitudes, longitudes) = (track[.latitude], track[.longitude])
        guard let latitudes, let longitudes else { return nil }
        let accuracies = track[.horizontalAccuracy]
        var smoother = FixSmoother(usualSpeed: Activity.running.usualSpeed)
        var smoothed: [FixSmoother.Smoothed] = []
        var last: Fix?
        for (row, time) in track.times.enumerated() {
            guard let latitude = latitudes[row], LocationField.latitude.range.contains(latitude),
                let longitude = longitudes[row], LocationField.longitude.range.contains(longitude)
            else { continue }
            var location = Location(time: time)
            location[.latitude] = latitude
            location[.longitude] = longitude
            location[.horizontalAccuracy] = accuracies?[row]
            guard var fix = Fix(location, number: row, segments: segments) else { continue }
            if let last {
                let way = Coordinate(latitude: last.latitude, longitude: last.longitude)
                    .distance(to: Coordinate(latitude: latitude, longitude: longitude))
                let seconds = Double(fix.time - last.time) / 1e6
                fix.startsLine = fix.segment != last.segment || way > FixChain.speedLimit * seconds + Self.slack
            } else {
                fix.startsLine = true
            }
            last = fix
            smoother.add(fix, giving: &smoothed)
        }
        smoother.finish(giving: &smoothed)
        guard let first = smoothed.first, let end = smoothed.last else { return nil }
        var rates = HeartRates(series)
        lines = []
        for point in smoothed {
            let vertex = RouteVertex(
                point.place, heartRate: rates.value(at: point.fix.time, within: SourceOrder.freshness))
            if point.fix.startsLine || lines.isEmpty {
                lines.append([vertex])
            } else {
                lines[lines.count - 1].append(vertex)
            }
        }
        (startSlack, endSlack) = Self.slacks(series, from: first.fix.time, to: end.fix.time)
        var tolerance = Self.tolerance
        repeat {
            lines = lines.map { Self.simplified($0, tolerance) }
            tolerance *= 1.5
        } while lines.reduce(0, { $0 + $1.count }) > Self.vertexLimit && tolerance < 10_000
    }

    /// The measured metres before the first position and after the last.
    private static func slacks(_ series: Series?, from first: Int64, to last: Int64) -> (Double, Double) {
        guard let series, let meters = series[.distance] else { return (0, 0) }
        var (before, after) = (0.0, 0.0)
        for (time, value) in zip(series.times, meters) {
            guard let value, value > 0 else { continue }
            if time.microseconds < first { before += value } else if time.microseconds > last { after += value }
        }
        return (before, after)
    }

    private static func simplified(_ line: [RouteVertex], _ tolerance: Double) -> [RouteVertex] {
        line.points.kept(tolerance: tolerance).map { line[$0] }
    }

    /// What others get: without both ends, and within ``sizeLimit``.
    ///
    /// - Parameter hideNear: metres; 0 hides nothing.
    package func shared(hideNear: Double, key: HidingKey, withHeartRate: Bool) -> Shared {
        var parts = lines
        if hideNear > 0, let start = lines.first?.first, let end = lines.last?.last {
            parts = HiddenCircle(around: start.place, radius: hideNear + startSlack, key: key).cut(parts)
            parts = HiddenCircle(around: end.place, radius: hideNear + endSlack, key: key).cut(parts)
        }
        var tolerance = Self.tolerance
        while true {
            let shared = Shared(parts, withHeartRate: withHeartRate)
            if shared.size + Self.frameSize <= Self.sizeLimit { return shared }
            let count = parts.reduce(0) { $0 + $1.count }
            parts = parts.map { Self.simplified($0, tolerance) }
            tolerance *= 1.5
            // Many short lines: the shortest goes.
            guard
                parts.allSatisfy({ $0.count <= 2 }) || parts.reduce(0, { $0 + $1.count }) == count && tolerance > 1_000,
                let shortest = parts.indices.min(by: { parts[$0].length < parts[$1].length })
            else { continue }
            parts.remove(at: shortest)
        }
    }
}

extension RunnerRoute.Shared {
    fileprivate init(_ lines: [[RouteVertex]], withHeartRate: Bool) {
        polyline = lines.map(\.points.encoded)
        heartRates = withHeartRate ? lines.map { $0.map { $0.heartRate?.rounded() } } : nil
    }

    /// Bytes as JSON.
    fileprivate var size: Int {
        var size = 0
        for line in polyline { size += 3 + line.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "\\") ? 2 : 1) } }
        for line in heartRates ?? [] {
            size += 3
            for rate in line { size += 1 + (rate.map { String(Int($0)).utf8.count } ?? 4) }
        }
        return size
    }
}

extension [RouteVertex] {
    fileprivate var points: [PolylinePoint] {
        reduce(into: []) { $0.append(PolylinePoint($1.place, after: $0.last)) }
    }

    fileprivate var length: Double {
        zip(self, dropFirst()).reduce(0) { $0 + $1.0.place.distance(to: $1.1.place) }
    }
}

/// The heart rates of a series, read in the order of time.
private struct HeartRates {
    private var rows: [(time: Int64, value: Double)] = []
    private var index = 0

    init(_ series: Series?) {
        guard let series, let values = series[.heartRate] else { return }
        rows = zip(series.times, values).compactMap { time, value in
            guard let value, Quantity.heartRate.range.contains(value) else { return nil }
            return (time.microseconds, value)
        }
    }

    /// The newest heart rate at a time that is not before the previous call's.
    mutating func value(at time: Int64, within seconds: Double) -> Double? {
        while index + 1 < rows.count, rows[index + 1].time <= time { index += 1 }
        guard index < rows.count, rows[index].time <= time, Double(time - rows[index].time) <= seconds * 1e6 else {
            return nil
        }
        return rows[index].value
    }
}

extension RunnerRoute: Codable {
    private enum Key: String, CodingKey {
        case lines, startSlack, endSlack
    }

    /// Stored numbers. A longitude may be beyond 180 degrees; any larger number would not fit the other formats.
    private static let numbers: ClosedRange<Int64> = -1_000_000_000...1_000_000_000

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let lines = try container.decode([[Int64?]].self, forKey: .lines)
        self.lines = try lines.map { numbers in
            guard numbers.count % 3 == 0, numbers.allSatisfy({ Self.numbers.contains($0 ?? 0) }) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .lines, in: container, debugDescription: "cut short or out of range")
            }
            return stride(from: 0, to: numbers.count, by: 3).map { index in
                RouteVertex(
                    Coordinate(
                        latitude: Double(numbers[index] ?? 0) / 1e6, longitude: Double(numbers[index + 1] ?? 0) / 1e6),
                    heartRate: numbers[index + 2].map(Double.init))
            }
        }
        startSlack = try container.decode(Double.self, forKey: .startSlack)
        endSlack = try container.decode(Double.self, forKey: .endSlack)
    }

    /// Millionths of a degree, and beats per minute.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(
            lines.map { line in
                line.flatMap { vertex -> [Int64?] in
                    [
                        Int64((vertex.place.latitude * 1e6).rounded()), Int64((vertex.place.longitude * 1e6).rounded()),
                        vertex.heartRate.map { Int64($0.rounded()) },
                    ]
                }
            }, forKey: .lines)
        try container.encode(startSlack, forKey: .startSlack)
        try container.encode(endSlack, forKey: .endSlack)
    }
}
