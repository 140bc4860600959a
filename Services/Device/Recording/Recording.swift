import Workouts

/// A recorded workout, whatever kind of file it was read from.
struct Recording: Equatable {
    var start: Timestamp
    var end: Timestamp
    /// The active time, in order and apart from one another; at least one.
    var segments: [ClosedRange<Timestamp>]
    var activity: Activity
    /// What the recording says about it.
    var environment: Environment?
    /// In the order of time, each with its own.
    var samples: [Sample]
    /// In the order of time, each with that of a sample.
    var locations: [Location] = []
}

extension Recording {
    /// A pause at the end that is no longer than this is only the time it took to press the button twice.
    private static let lastPause = 1.0

    /// The same without any sample's distance, as of a device that only knows where it is.
    var withoutDistance: Recording {
        var recording = self
        for index in samples.indices { recording.samples[index][.distance] = nil }
        return recording
    }

    /// What was done, in the order of time: `start`, every sample and location, the recording's pauses as `pause` and
    /// `resume`, `end`.
    var steps: [Step] {
        // Who knew where he was, was outdoors; else the activity's default counts.
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

/// One thing a device does at a moment.
struct Step: Equatable {
    enum Kind: Equatable {
        /// An `end` is sent with the number of items that there are by then.
        case command(SessionAction)
        case sample(Sample)
        case location(Location)
    }

    let at: Timestamp
    let kind: Kind

    init(at: Timestamp, _ kind: Kind) {
        self.at = at
        self.kind = kind
    }
}
