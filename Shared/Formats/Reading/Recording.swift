package import Workouts

/// A recorded workout, read from any kind of file.
package struct Recording: Equatable, Sendable {
    package var start: Timestamp
    package var end: Timestamp
    /// The active time, sorted and without overlaps; at least one segment.
    package var segments: [ClosedRange<Timestamp>]
    package var activity: Activity
    /// `nil` if the recording does not contain it.
    package var environment: Environment?
    /// Metres; `nil` outside of pools.
    package var poolLength: Double?
    /// Sorted by time, each with a different time.
    package var samples: [Sample]
    /// Sorted by time, each with the time of a sample.
    package var locations: [Location] = []
    /// The ends of laps.
    package var laps: [Timestamp] = []
    /// The file's own totals.
    package var totals = RecordedTotals()
    /// Whether the file has totals alone, and the samples are made from them.
    package var isMadeFromTotals = false

    package init(
        start: Timestamp, end: Timestamp, segments: [ClosedRange<Timestamp>], activity: Activity,
        environment: Environment? = nil, samples: [Sample], locations: [Location] = []
    ) {
        self.start = start
        self.end = end
        self.segments = segments
        self.activity = activity
        self.environment = environment
        self.samples = samples
        self.locations = locations
    }
}

extension Recording {
    /// A shorter pause at the end is the time between two presses of the button.
    private static let lastPause = 1.0

    /// The recording of a device that measures its position and no distance.
    package var withoutDistance: Recording {
        var recording = self
        for index in samples.indices { recording.samples[index][.distance] = nil }
        return recording
    }

    /// `start`, the recording's pauses as `pause` and `resume`, its laps, `end`: at least two.
    package var commands: [Step] {
        // A recording with positions is outdoors; otherwise the activity's default counts.
        let environment = environment ?? (locations.isEmpty ? nil : .outdoor)
        var start = SessionStart(activity: activity, environment: environment, countdown: 0)
        start.poolLength = poolLength.flatMap { SessionStart.poolLengths.contains($0) ? $0 : nil }
        let last = segments[segments.count - 1].upperBound
        let isPausedAtEnd = end.seconds(since: last) > Self.lastPause
        return [Step(at: segments[0].lowerBound, .command(.start(start)))] + clockCommands
            + (isPausedAtEnd ? [Step(at: last, .command(.pause))] : [])
            + [Step(at: isPausedAtEnd ? end : last, .command(.end(streams: [:])))]
    }

    /// The workout sorted by time: ``commands``, and every sample and location between the first and the last of them.
    package var steps: [Step] {
        let all = commands
        var (steps, commands) = (Array(all.prefix(1)), all.dropFirst().dropLast())
        var locations = locations[...]
        for sample in samples {
            guard let time = sample.time else { continue }
            while let command = commands.first, command.at < time { steps.append(commands.removeFirst()) }
            steps.append(Step(at: time, .sample(sample)))
            while let location = locations.first, let at = location.time, at <= time {
                steps.append(Step(at: at, .location(location)))
                locations.removeFirst()
            }
        }
        return steps + commands + all.suffix(1)
    }

    /// Pauses between segments, and laps in them. A lap in a pause ends where the pause begins: a paused session takes no
    /// `lap`.
    private var clockCommands: [Step] {
        var laps = Set(laps).filter { $0 > segments[0].lowerBound }.sorted().prefix(Session.lapLimit)
        var commands: [Step] = []
        for (segment, next) in zip(segments, segments.dropFirst().map(Optional.some) + [nil]) {
            while let lap = laps.first, lap <= segment.upperBound {
                laps.removeFirst()
                // Nothing follows the end of the last lap.
                if lap < segment.upperBound || next != nil { commands.append(Step(at: lap, .command(.lap))) }
            }
            guard let next else { break }
            let isLapInPause = laps.first.map { $0 <= next.lowerBound } ?? false
            laps.removeAll { $0 <= next.lowerBound }
            if isLapInPause, commands.last != Step(at: segment.upperBound, .command(.lap)) {
                commands.append(Step(at: segment.upperBound, .command(.lap)))
            }
            commands.append(Step(at: segment.upperBound, .command(.pause)))
            commands.append(Step(at: next.lowerBound, .command(.resume)))
        }
        return commands
    }
}

/// An action of a device at a moment.
package struct Step: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// An `end` is sent with the number of items so far.
        case command(SessionAction)
        case sample(Sample)
        case location(Location)
    }

    package let at: Timestamp
    package let kind: Kind

    package init(at: Timestamp, _ kind: Kind) {
        self.at = at
        self.kind = kind
    }
}
