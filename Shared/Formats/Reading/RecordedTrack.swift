import Workouts

/// What GPX and TCX hold of a workout: points in parts, each recorded without an interruption.
struct RecordedTrack {
    struct Point {
        var time: Timestamp?
        /// Of these the distance is in metres since the recording began, and the cadence as the file has it: strides, which
        /// are two steps, where steps are made.
        var values = Sample()
        /// Strides a minute, of a file that has them whatever the activity is.
        var strides: Double?
        /// Degrees, WGS 84.
        var latitude: Double?
        var longitude: Double?
        /// Metres.
        var altitude: Double?
        /// Degrees, clockwise from north.
        var course: Double?
    }

    /// As the file calls what was done.
    var sport: String?
    /// When the clock began to run, if that was before the first point.
    var start: Timestamp?
    /// The distance as the file sums it up.
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
    /// What is meant by words such as `Running`, `trail_running`, `Biking`, `road cycling` or our own.
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
