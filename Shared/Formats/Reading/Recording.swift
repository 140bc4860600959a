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
    /// Sorted by time, each with a different time.
    package var samples: [Sample]
    /// Sorted by time, each with the time of a sample.
    package var locations: [Location] = []

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

    /// The workout sorted by time: `start`, every sample and location, the recording's pauses as `pause` and `resume`,
    /// `end`.
    package var steps: [Step] {
        // A recording with positions is outdoors; otherwise the activity's default counts.
        let environment = environment ?? (locations.isEmpty ? nil : .outdoor)
        var commands = [
            Step(
                at: segments[0].lowerBound,
                .command(.start(SessionStart(activity: activity, environment: environment, countdown: 0))))
        ]
        for (previous, next) in zip(segments, segments.dropFirst()) {
            commands.append(Step(at: previous.upperBound, .command(.pause)))
            commands.append(Step(at: next.lowerBound, .command(.resume)))
        }
        let last = segments[segments.count - 1].upperBound
        let isPausedAtEnd = end.seconds(since: last) > Self.lastPause
        if isPausedAtEnd { commands.append(Step(at: last, .command(.pause))) }

        var steps = [commands.removeFirst()]
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
        return steps + commands + [Step(at: isPausedAtEnd ? end : last, .command(.end(streams: [:])))]
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
