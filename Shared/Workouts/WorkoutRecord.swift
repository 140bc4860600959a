/// The finished record of a workout, composed by the session engine from the session and the summaries.
package struct WorkoutRecord: Codable, Equatable, Sendable {
    package var session: SessionID
    package var user: User
    package var revision: Int64
    /// Set when not all that was announced had arrived in time; a later revision follows when it has.
    package var incomplete: Bool?
    package var activity: Activity
    package var environment: Environment
    package var name: String
    package var mode: Mode
    package var startedAt: Timestamp?
    package var endedAt: Timestamp?
    package var timeZone: String?
    package var segments: [Segment]
    /// Seconds without pauses.
    package var activeDuration: Double
    /// Seconds from start to end, pauses included.
    package var elapsedDuration: Double
    package var distance: Double?
    package var activeEnergy: Double?
    package var energySource: String?
    package var averageHeartRate: Double?
    package var maximumHeartRate: Double?
    package var averageSpeed: Double?
    package var maximumSpeed: Double?
    package var averageCadence: Double?
    package var averagePower: Double?
    package var maximumPower: Double?
    package var steps: Double?
    /// Seconds in each heart rate zone.
    package var zones: [Double]?
    package var splits: [MetricsSummary.Split]
    package var laps: [MetricsSummary.Lap]
    /// For each stream the number of items that are stored: a device may forget what lies below.
    package var next: [StreamName: Int]
    /// The revision of each summary that went in.
    package var summaries: [String: Int64]

    /// - Parameters:
    ///   - metrics: what the metrics aggregator made of the samples, as far as it came.
    ///   - isComplete: whether the summaries hold all that was announced.
    package init(
        _ session: Session, metrics: MetricsReport?, isComplete: Bool, revision: Int64
    ) {
        self.session = session.key.session
        user = session.key.user
        self.revision = revision
        incomplete = isComplete ? nil : true
        activity = session.activity
        environment = session.environment
        name = session.name
        startedAt = session.startedAt
        endedAt = session.endedAt
        timeZone = session.timeZone
        segments = session.segments
        activeDuration = thousandths(session.segments.activeDuration())
        elapsedDuration = 0
        if let start = session.startedAt, let end = session.endedAt {
            elapsedDuration = thousandths(end.seconds(since: start))
        }
        next = metrics?.next ?? [:]
        mode = next.contains { $0.key.device.kind == "watch" && $0.value > 0 } ? .watch : .phone
        summaries = metrics.map { ["metrics": $0.revision] } ?? [:]
        let totals = metrics?.totals ?? MetricsSummary()
        distance = totals.distance
        activeEnergy = totals.activeEnergy
        energySource = totals.energySource
        averageHeartRate = totals.averageHeartRate
        maximumHeartRate = totals.maximumHeartRate
        averageSpeed = totals.averageSpeed
        maximumSpeed = totals.maximumSpeed
        averageCadence = totals.averageCadence
        averagePower = totals.averagePower
        maximumPower = totals.maximumPower
        steps = totals.steps
        zones = totals.zones
        splits = totals.splits
        laps = totals.laps
    }
}

/// `summary/metrics`: the totals of the samples, and what they were made from.
package struct MetricsReport: Equatable, Sendable {
    package var revision: Int64
    /// The revision of the `state` that was used.
    package var state: Int64
    /// For each stream the number of items that went in.
    package var next: [StreamName: Int]
    /// How many chunks of `series` belong to this revision.
    package var chunks: Int
    package var totals: MetricsSummary

    package init(revision: Int64, state: Int64, next: [StreamName: Int], chunks: Int, totals: MetricsSummary) {
        self.revision = revision
        self.state = state
        self.next = next
        self.chunks = chunks
        self.totals = totals
    }
}

extension MetricsReport: Codable {
    private enum Key: String, CodingKey {
        case revision, state, next, chunks
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        revision = try container.decode(Int64.self, forKey: .revision)
        state = try container.decode(Int64.self, forKey: .state)
        next = try container.decode([StreamName: Int].self, forKey: .next)
        chunks = try container.decode(Int.self, forKey: .chunks)
        totals = try MetricsSummary(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        try totals.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(revision, forKey: .revision)
        try container.encode(state, forKey: .state)
        try container.encode(next, forKey: .next)
        try container.encode(chunks, forKey: .chunks)
    }
}

extension Session {
    /// Whether a report holds every sample that was announced, and was made from the session as it ended.
    package func isCovered(by report: MetricsReport?, endRevision: Int64) -> Bool {
        guard let report, report.state >= endRevision else { return false }
        return holdsAnnounced(report.next)
    }

    /// Whether counts of items hold every sample that was announced.
    package func holdsAnnounced(_ next: [StreamName: Int]) -> Bool {
        streams.allSatisfy { stream, count in stream.kind != .samples || next[stream, default: 0] >= count }
    }
}
