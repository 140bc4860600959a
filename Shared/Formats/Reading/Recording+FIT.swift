import FIT
import Workouts

extension Recording {
    /// Seconds at the end of a session over which the metres of later records are spread.
    private static let lastStretch = 60.0

    /// A session of a FIT activity, counted from 0.
    init(_ activity: FITActivity, session index: Int = 0) {
        let session = activity.sessions[index]
        let sport = RecordedSport(session.sport, session.subSport)
        let sorted = activity.records.sorted { $0.time < $1.time }
        var segments = activity.activeSegments(of: session).map {
            Timestamp(seconds: $0.lowerBound)...Timestamp(seconds: $0.upperBound)
        }
        if let timerTime = session.timerTime {
            segments = AutoPauses(sorted.map { Timestamp(seconds: $0.time) }, in: segments, activeTime: timerTime)
                .removed(from: segments)
        }
        let end = max(session.end, segments[segments.count - 1].upperBound.seconds)
        let records = sorted.filter { session.start <= $0.time && $0.time <= end }
        self.init(
            start: Timestamp(seconds: session.start), end: Timestamp(seconds: end), segments: segments,
            activity: sport.activity, environment: sport.environment, samples: [])
        totals = RecordedTotals(session)

        var deltas = DistanceDeltas(base: Self.base(records, sorted, session))
        let readsDistance = session.poolLength == nil || !activity.lengths.contains(where: \.isActive)
        // In other activities recordings do not count steps.
        let countsSteps = sport.activity.countsStrides
        var sums = [Double](repeating: 0, count: Quantity.allCases.count)
        samples = records.map { record in
            var sample = Sample(time: Timestamp(seconds: record.time))
            sample.set(.heartRate, record.heartRate)
            sample.set(.speed, record.speed)
            sample.set(.power, record.power)
            sample.set(.temperature, record.temperature)
            sample.set(.cadence, record.cadence.map { $0 * sport.activity.cadenceFactor })
            let isInside = sample.time.map(isActive) ?? false
            for quantity in Quantity.recorded where !quantity.isNamed {
                let values = record.values(quantity)
                if quantity.isDelta {
                    guard isInside, let value = values.first else { continue }
                    sample.set(quantity, Self.growth(of: &sums[quantity.rawValue], to: value))
                } else {
                    sample[all: quantity] = Array(
                        values.filter(quantity.range.contains).prefix(quantity.isList ? Quantity.listLimit : 1))
                }
            }
            guard isInside else { return sample }
            if readsDistance { sample.set(.distance, record.distance.map { deltas.delta(to: $0) }) }
            sample.set(
                .activeEnergy, record.calories.map { Self.growth(of: &sums[Quantity.activeEnergy.rawValue], to: $0) })
            if countsSteps {
                sample.set(
                    .steps,
                    record.cycles.map {
                        Self.growth(of: &sums[Quantity.steps.rawValue], to: $0 * sport.activity.cadenceFactor)
                    })
            }
            return sample
        }
        take(
            records.map { record in
                Location(
                    time: Timestamp(seconds: record.time), latitude: record.latitude, longitude: record.longitude,
                    altitude: record.altitude, accuracy: record.gpsAccuracy, speed: record.speed)
            })
        if readsDistance { addLastMetres(deltas.counted, sorted, session, before: activity.end(of: session)) }
        addLengths(activity.lengths.filter { session.start <= $0.start && $0.start < end }, session)
        addBeats(activity.heartRates)
        addLaps(activity.laps)
    }

    private func isActive(_ time: Timestamp) -> Bool { segments.contains { $0.contains(time) } }

    /// The distance at the start of a session: an earlier session has counted, or an editor cut it.
    private static func base(
        _ records: [FITActivity.Record], _ all: [FITActivity.Record], _ session: FITActivity.Session
    ) -> Double {
        let distances = records.compactMap(\.distance)
        let before = all.last { $0.time < session.start && $0.distance != nil }?.distance
        // Some devices begin each session of a multi-sport activity at 0.
        if let before, before <= distances.first ?? before { return before }
        return base(distances, session: session.distance)
    }

    /// The distance at the start of the first of some growing distances that end with a total.
    static func base(_ distances: [Double], session total: Double?) -> Double {
        guard let total, let first = distances.first, let last = distances.last else { return 0 }
        return min(max(0, last - total), first)
    }

    /// Adds the metres of records after the last stop of the timer, as far as the session's distance contains them.
    private mutating func addLastMetres(
        _ counted: Double, _ sorted: [FITActivity.Record], _ session: FITActivity.Session, before limit: Double
    ) {
        guard let total = session.distance, let segment = segments.last else { return }
        let later = sorted.filter { segment.upperBound.seconds < $0.time && $0.time < limit }.compactMap(\.distance)
            .max()
        let sum = samples.compactMap { $0[.distance] }.reduce(0, +)
        let missing = min((later ?? 0) - counted, total - sum)
        guard missing > 0 else { return }
        let start = max(segment.lowerBound, segment.upperBound + -Self.lastStretch)
        accrue(.distance, [Share(time: start...segment.upperBound, amount: missing)])
    }

    /// The increase of a number that grows from record to record.
    private static func growth(of counted: inout Double, to value: Double) -> Double {
        defer { counted = max(counted, value) }
        return max(0, value - counted)
    }
}

extension FITActivity.Record {
    /// The values of a quantity in its field of the profile or of a developer.
    fileprivate func values(_ quantity: Quantity) -> [Double] {
        switch quantity.fit {
        case .record: quantity.fitField.flatMap(number).map { [$0] } ?? []
        case .developer: developer[quantity.name] ?? []
        case .absent: []
        }
    }
}
