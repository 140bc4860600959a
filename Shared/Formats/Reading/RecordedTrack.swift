import Workouts

/// A workout in a GPX or TCX file: laps of points in parts, each recorded without an interruption that the file shows.
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

        var coordinate: Coordinate? {
            guard let latitude, let longitude else { return nil }
            return Coordinate(latitude: latitude, longitude: longitude)
        }
    }

    struct Lap {
        var start: Timestamp?
        var totals = RecordedTotals()
        var parts: [[Point]] = []
    }

    /// The file's name of the activity.
    var sport: String?
    /// One without a start for a format that has no laps.
    var laps: [Lap] = []
    /// Whether the file ends inside of it.
    var isCut = false

    /// TCX has `Other` for all but running and cycling.
    var namesSport: Bool { sport.map { !$0.isEmpty && $0 != "Other" } ?? false }
}

extension Recording {
    /// Points without a time are left out.
    ///
    /// - Parameter unnamed: the activity of a track that names none.
    ///
    /// Returns `nil` if neither a point nor a lap has one.
    init?(_ track: RecordedTrack, unnamed: Activity = .other) {
        let sport = RecordedSport(words: track.namesSport ? track.sport ?? "" : unnamed.rawValue)
        var pieces = ActivePieces(sport.activity)
        for (lap, next) in zip(track.laps, track.laps.dropFirst().map(\.start) + [nil]) { pieces.add(lap, next: next) }
        let segments = pieces.merged
        guard let first = segments.first, let last = segments.last else { return nil }
        self.init(
            start: first.lowerBound, end: last.upperBound, segments: segments,
            activity: sport.activity, environment: sport.environment, samples: [])
        totals = RecordedTotals(laps: track.laps.map(\.totals))
        laps = track.laps.dropFirst().compactMap(\.start)

        // Once in memory: a large file has hundreds of thousands.
        var points = track.laps.flatMap { $0.parts.joined() }
        points.removeAll { $0.time == nil }
        points.sort { ($0.time?.microseconds ?? 0) < ($1.time?.microseconds ?? 0) }
        let distances = points.compactMap { $0.values[.distance] }
        let lapDistances = track.laps.compactMap(\.totals.distance)
        var deltas = DistanceDeltas(
            base: Self.base(distances, session: lapDistances.isEmpty ? nil : lapDistances.reduce(0, +)))
        samples = points.map { point in
            var sample = Sample(time: point.time)
            for quantity in point.values.quantities {
                guard let value = point.values[quantity] else { continue }
                switch quantity {
                case .distance: sample.set(.distance, deltas.delta(to: value))
                case .cadence: sample.set(.cadence, value * sport.activity.cadenceFactor)
                default: sample.set(quantity, value)
                }
            }
            if let strides = point.strides { sample.set(.cadence, strides * 2) }
            return sample
        }
        take(
            points.map { point in
                point.time.flatMap { time in
                    Location(
                        time: time, latitude: point.latitude, longitude: point.longitude, altitude: point.altitude,
                        speed: point.values[.speed], course: point.course)
                }
            })
        if totals.distance == nil, let distance = distances.max(), distance > 0 { totals.distance = distance }
        complete(
            with: zip(track.laps, track.laps.dropFirst().map(\.start) + [nil]).compactMap { lap, next in
                guard let start = lap.start else { return nil }
                return RecordedLap(time: start...max(start, next ?? end), totals: lap.totals)
            })
        if track.isCut { totals = RecordedTotals() }
    }
}

extension RecordedTotals {
    /// The sums of laps. A sum of 0 was not measured.
    fileprivate init(laps: [RecordedTotals]) {
        func sum(_ value: KeyPath<RecordedTotals, Double?>) -> Double? {
            let sum = laps.compactMap { $0[keyPath: value] }.reduce(0, +)
            return sum > 0 ? sum : nil
        }
        let rates = laps.compactMap { lap in lap.averageHeartRate.map { (rate: $0, time: lap.activeTime ?? 0) } }
        let time = rates.reduce(0) { $0 + $1.time }
        self.init(
            distance: sum(\.distance), activeTime: sum(\.activeTime), energy: sum(\.energy), ascent: sum(\.ascent),
            descent: sum(\.descent),
            averageHeartRate: time > 0 ? rates.reduce(0) { $0 + $1.rate * $1.time } / time : nil)
    }
}

/// The active time of a track: the parts of its laps, without the auto-pauses inside of them.
///
/// A new part begins after a pause, unless it is the first of a lap that follows the previous lap without a gap.
private struct ActivePieces {
    /// Seconds between two laps that are no pause: times are often whole seconds.
    private static let lapGap = 1.0
    /// Seconds that a lap may last longer than a point after it shows.
    private static let longestSilence = 86_400.0

    private let activity: Activity
    private var segments: [ClosedRange<Timestamp>] = []
    private var previousEnd: Timestamp?

    init(_ activity: Activity) {
        self.activity = activity
    }

    mutating func add(_ lap: RecordedTrack.Lap, next: Timestamp?) {
        let times = lap.parts.map { $0.compactMap(\.time).sorted() }.filter { !$0.isEmpty }
        var pieces = times.map { $0[0]...$0[$0.count - 1] }
        var follows = false
        if let start = lap.start {
            follows = previousEnd.map { start.seconds(since: $0) <= Self.lapGap } ?? false
            if pieces.isEmpty, lap.totals.activeTime != nil { pieces = [start...start] }
            if segments.isEmpty || follows, let first = pieces.first {
                pieces[0] = min(start, first.lowerBound)...first.upperBound
            }
        }
        guard !pieces.isEmpty else { return }
        if let activeTime = lap.totals.activeTime {
            let pauses = AutoPauses(times.flatMap(\.self), in: pieces, activeTime: activeTime)
            pieces = pauses.removed(from: pieces)
            let silence = activeTime - pieces.duration
            if lap.start != nil, pieces.count == 1, silence > AutoPauses.tolerance(activeTime) {
                let end = pieces[0].upperBound + min(silence, Self.longestSilence)
                pieces[0] = pieces[0].lowerBound...max(pieces[0].upperBound, min(end, next ?? end))
            }
        } else if lap.start == nil {
            pieces = AutoPauses(resting: lap.parts, activity).removed(from: pieces)
        }
        // By its duration and pauses, a lap may last longer than its points.
        let newest = pieces[pieces.count - 1].upperBound
        let pauses = newest.seconds(since: pieces[0].lowerBound) - pieces.duration
        previousEnd =
            lap.start.flatMap { start in lap.totals.activeTime.map { max(newest, start + ($0 + pauses)) } } ?? newest
        if follows, let last = segments.popLast() {
            let first = pieces.removeFirst()
            segments.append(last.lowerBound...max(last.upperBound, first.upperBound))
        }
        segments += pieces
    }

    /// Sorted; those that overlap are one.
    var merged: [ClosedRange<Timestamp>] {
        segments.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { merged, range in
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
    }
}
