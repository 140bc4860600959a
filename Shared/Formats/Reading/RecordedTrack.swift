import Workouts

/// A workout in a GPX or TCX file: points in parts, each recorded without an interruption.
struct RecordedTrack {
    struct Point {
        var time: Timestamp?
        /// The distance is in metres since the start of the recording. The cadence is that of the file: strides, which
        /// are two steps, for activities with steps.
        var values = Sample()
        /// Strides a minute, from a file that contains strides for every activity.
        var strides: Double?
        /// Degrees, WGS 84.
        var latitude: Double?
        var longitude: Double?
        /// Metres.
        var altitude: Double?
        /// Degrees, clockwise from north.
        var course: Double?
    }

    /// The file's name of the activity.
    var sport: String?
    /// The start of the clock, if it is before the first point.
    var start: Timestamp?
    /// The total distance in the file.
    var distance: Double?
    var parts: [[Point]] = []
}

extension Recording {
    /// The time between two parts is a pause; parts that overlap are one. Points without a time are left out.
    ///
    /// Returns `nil` when no point has one.
    init?(_ track: RecordedTrack) {
        let parts = track.parts.map { part in part.compactMap(\.time).sorted() }
        var ranges = parts.compactMap { times in times.last.map { times[0]...$0 } }
            .sorted { $0.lowerBound < $1.lowerBound }
        guard let first = ranges.first else { return nil }
        if let start = track.start, start < first.lowerBound { ranges[0] = start...first.upperBound }
        let segments = ranges.reduce(into: [ClosedRange<Timestamp>]()) { segments, range in
            if let last = segments.last, range.lowerBound <= last.upperBound {
                segments[segments.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                segments.append(range)
            }
        }
        let activity = track.sport.map(Activity.init(sport:)) ?? .other
        self.init(
            start: segments[0].lowerBound, end: segments[segments.count - 1].upperBound, segments: segments,
            activity: activity, environment: nil, samples: [])

        let points = track.parts.joined().compactMap { point in point.time.map { (time: $0, point) } }
            .sorted { $0.time < $1.time }
        var deltas = DistanceDeltas(
            base: Self.base(points.compactMap { $0.1.values[.distance] }, session: track.distance))
        samples = points.map { time, point in
            var sample = Sample(time: time)
            for quantity in point.values.quantities {
                guard let value = point.values[quantity] else { continue }
                switch quantity {
                case .distance: sample.set(.distance, deltas.delta(to: value))
                case .cadence: sample.set(.cadence, value * activity.cadenceFactor)
                default: sample.set(quantity, value)
                }
            }
            if let strides = point.strides { sample.set(.cadence, strides * 2) }
            return sample
        }
        locations = points.compactMap { time, point in
            Location(
                time: time, latitude: point.latitude, longitude: point.longitude, altitude: point.altitude,
                speed: point.values[.speed], course: point.course)
        }
    }
}

extension Activity {
    /// The activity of words such as `Running`, `trail_running`, `Biking`, `road cycling` or our own.
    fileprivate init(sport: String) {
        if let activity = Activity(rawValue: sport) {
            self = activity
            return
        }
        let words: [(String, Activity)] = [
            ("run", .running), ("bik", .cycling), ("cycl", .cycling), ("ride", .cycling), ("walk", .walking),
            ("hik", .hiking), ("row", .rowing), ("swim", .swimming),
        ]
        let sport = sport.lowercased()
        self = words.first { sport.contains($0.0) }?.1 ?? .other
    }
}
