/// What the live values of a session depend on besides its items and their times.
package struct LiveRules: Hashable, Sendable {
    package var physiology: Physiology
    package var units: Units
    package var activity: Activity
    /// Metres.
    package var poolLength: Double?

    package init(
        physiology: Physiology = Physiology(), units: Units = .metric, activity: Activity = .running,
        poolLength: Double? = nil
    ) {
        self.physiology = physiology
        self.units = units
        self.activity = activity
        self.poolLength = poolLength
    }

    package init(_ state: SessionState, _ profile: Profile?) {
        self.init(
            physiology: Physiology(profile, of: state), units: state.units, activity: state.activity,
            poolLength: state.poolLength)
    }
}

/// A completed kilometre or mile, or an ended lap. Absent means not measured.
package struct LiveStretch: Equatable, Sendable {
    /// The number of the stretch, from 1.
    package var number: Int
    package var at: Timestamp
    /// Active seconds.
    package var duration: Double?
    /// Metres.
    package var distance: Double?
    /// Seconds per kilometre.
    package var pace: Double?
    package var averageHeartRate: Double?
}

/// Splits and laps while they happen. Those of the route, and the heart rate of a split, are close to the summary's and
/// not equal: `route` has at most one distance a second, and the heart rate is taken as constant since its last reading.
extension LiveMetrics {
    /// The number of completed kilometres or miles.
    package var splitCount: Int { distances.counted?.splits ?? 0 }

    /// The last completed kilometre or mile; `nil` if it was completed before this fold knew.
    package var split: LiveStretch? {
        guard let split = distances.counted?.split, split.number == splitCount else { return nil }
        let length = rules.units.splitLength
        var stretch = LiveStretch(number: split.number, at: Timestamp(microseconds: split.at), distance: length)
        stretch.duration = split.duration.map { thousandths(Double($0) / 1e6) }
        stretch.pace = stretch.duration.flatMap { rules.pace(metres: length, seconds: $0) }.map(thousandths)
        stretch.averageHeartRate = split.averageHeartRate.map(thousandths)
        return stretch
    }

    /// An ended lap of a session.
    package func lap(_ number: Int, of state: SessionState) -> LiveStretch? {
        let index = number - 1
        guard state.laps.indices.contains(index) else { return nil }
        var stretch = LiveStretch(number: number, at: state.laps[index])
        let start = index > 0 ? state.laps[index - 1].microseconds : .min
        let end = state.laps[index].microseconds
        let seconds = Double(state.segments.activeMicroseconds(from: start, to: end)) / 1e6
        stretch.duration = thousandths(seconds)
        guard lapEnds.indices.contains(index) else { return stretch }
        if let distance = distances.counted {
            let metres = distance.sum(atLapEnd: index) - (index > 0 ? distance.sum(atLapEnd: index - 1) : 0)
            stretch.distance = thousandths(max(0, metres))
            stretch.pace = rules.pace(metres: metres, seconds: seconds).map(thousandths)
        }
        let before = index > 0 ? beats(atLapEnd: index - 1) : Beats()
        stretch.averageHeartRate = beats(atLapEnd: index).average(since: before).map(thousandths)
        return stretch
    }

    /// Continues with the laps of a newer state. Returns `false` if only a fold over all items knows their values.
    package mutating func follow(laps: [Timestamp]) -> Bool {
        let ends = laps.map(\.microseconds)
        guard ends.starts(with: lapEnds) else { return false }
        let new = ends.dropFirst(lapEnds.count)
        let latest = max(tracks[Quantity.heartRate.rawValue].time, distances.counted?.time ?? .min)
        guard new.allSatisfy({ $0 >= latest }) else { return false }
        lapEnds = ends
        for end in new { distances.addLapEnd(end) }
        return true
    }

    /// Notes the beats at the ends of laps before a heart rate.
    mutating func passLaps(until time: Int64) {
        while lapBeats.count < lapEnds.count, lapEnds[lapBeats.count] < time {
            lapBeats.append(tracks[Quantity.heartRate.rawValue].beats(at: lapEnds[lapBeats.count]))
        }
    }

    private func beats(atLapEnd index: Int) -> Beats {
        if lapBeats.indices.contains(index) { return lapBeats[index] }
        return tracks[Quantity.heartRate.rawValue].beats(at: lapEnds[index])
    }

    /// The distance of the lap in progress.
    var lapDistance: Double? {
        guard let distance = distances.counted else { return nil }
        return max(0, distance.sum - (lapEnds.isEmpty ? 0 : distance.sum(atLapEnd: lapEnds.count - 1)))
    }
}

extension LiveMetrics.Track {
    /// The beats up to a moment. Before the last reading its value counts.
    func beats(at moment: Int64) -> Beats {
        guard current >= 0 else { return Beats() }
        let freshness = LiveMetrics.freshness
        let held = max(-min(weight, freshness), min(moment, until, time + freshness) - time)
        return Beats(weighted: weighted + value * Double(held), weight: weight + held)
    }
}

extension LiveRules {
    /// Seconds per kilometre; none below 50 m, when too slow, or of an activity that shows its speed.
    func pace(metres: Double?, seconds: Double) -> Double? {
        guard let metres, metres > 0 else { return nil }
        return pace(metres: metres, speed: metres / seconds)
    }

    func pace(metres: Double?, speed: Double?) -> Double? {
        guard let metres, metres >= 50, let speed else { return nil }
        return activity.pace(speed: speed)
    }
}
