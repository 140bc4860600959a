import ServiceKit
import Workouts

/// The splits and laps of a session that are to be announced, each once and only while they are new: by the service's
/// clock, or by the clock of a device that is known to be off.
struct StretchNews {
    /// The number of splits that were announced or are too old to announce; `nil` until a fold is complete.
    private var splits: Int?
    /// The ends of laps to announce, and when their state came.
    private var laps: [(end: Timestamp, since: Moment)] = []

    init(splits: Int?) {
        self.splits = splits
    }

    var hasLaps: Bool { !laps.isEmpty }

    /// Whether the splits that are old are unknown until a fold over all items.
    var awaitsFold: Bool { splits == nil }

    /// - Parameter count: the number of completed splits.
    func hasSplit(_ count: Int) -> Bool { splits.map { count > $0 } ?? true }

    /// Notes what a newer state adds. Splits of another unit are counted again.
    mutating func note(_ state: SessionState, after known: SessionState, now: Moment) {
        if state.units != known.units { splits = nil }
        for end in state.laps where !known.laps.contains(end) { laps.append((end, now)) }
    }

    /// Removes and returns the split that was just completed.
    ///
    /// - Parameter skews: the seconds by which clocks of devices are ahead.
    mutating func takeSplit(of live: some LiveFold, skews: [Double], now: Moment) -> LiveStretch? {
        guard hasSplit(live.splitCount) else { return nil }
        defer { splits = live.splitCount }
        guard splits != nil, let split = live.split, Self.isNew(split.at, skews, now) else { return nil }
        return split
    }

    /// Removes and returns the laps that just ended, each once its items are there or some seconds have passed.
    ///
    /// - Parameters:
    ///   - isStale: whether a fold over all items is due.
    ///   - skews: the seconds by which clocks of devices are ahead.
    mutating func takeLaps(
        of live: (some LiveFold)?, _ state: SessionState, isStale: Bool, skews: [Double], now: Moment
    ) -> [LiveStretch] {
        laps.removeAll { lap in !Self.isNew(lap.end, skews, now) || !state.laps.contains(lap.end) }
        guard let live else { return [] }
        let newest = isStale ? nil : live.newest
        let due = laps.filter { lap in
            newest.map { $0 >= lap.end } ?? false || now.seconds(since: lap.since) >= StreamTimes.lap
        }
        laps.removeAll { lap in due.contains { $0.end == lap.end } }
        return due.compactMap { lap in
            state.laps.firstIndex(of: lap.end).flatMap { index in live.lap(index + 1, of: state) }
        }
    }

    private static func isNew(_ time: Timestamp, _ skews: [Double], _ now: Moment) -> Bool {
        let ahead = time.seconds(since: now.wallClock)
        return ([0] + skews).contains { abs(ahead - $0) <= StreamTimes.news }
    }
}
