/// The finished record of a workout. session-engine composes it from the session and the summaries.
package struct WorkoutRecord: Codable, Equatable, Sendable {
    package var session: SessionID
    package var user: User
    package var revision: Int64
    /// Set if announced items were missing at the timeout. A later revision follows when they arrive.
    package var incomplete: Bool?
    /// Whether the user trimmed it, or changed its activity or environment.
    package var edited: Bool?
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
    /// Active seconds without stretches at rest.
    package var movingDuration: Double?
    package var distance: Double?
    package var activeEnergy: Double?
    package var energySource: EnergySource?
    package var averageHeartRate: Double?
    package var maximumHeartRate: Double?
    package var averageSpeed: Double?
    package var maximumSpeed: Double?
    package var averageCadence: Double?
    package var averagePower: Double?
    package var maximumPower: Double?
    package var steps: Double?
    /// The totals of all other quantities, by name.
    package var averages: [String: Double]?
    package var maxima: [String: Double]?
    package var sums: [String: Double]?
    /// Seconds in each heart rate zone.
    package var zones: [Double]?
    package var splits: [MetricsSummary.Split]
    package var laps: [MetricsSummary.Lap]
    package var bests: Bests?
    package var load: TrainingLoad?
    /// Which device counted for each quantity.
    package var sources: [CountedSource]?
    /// The route as one encoded polyline of at most ``RouteSummary/sketchLimit`` points.
    package var sketch: String?
    /// Metres.
    package var ascent: Double?
    package var descent: Double?
    package var bounds: RouteSummary.Bounds?
    /// One encoded polyline (precision 5) per unbroken line of the route.
    package var polyline: [String]?
    /// The last weather published during the workout.
    package var weather: Weather?
    /// The plan at the end of the workout.
    package var plan: SessionPlan?
    package var progress: ProgressReport?
    /// The completed rounds.
    package var rounds: [PlannedWorkout.Round]?
    /// The virtual run of this workout.
    package var run: RunID?
    /// The session that this one replaces.
    package var notSynced: SessionID?
    /// The number of stored items of each stream. A device may remove items below it.
    package var next: [StreamName: Int]
    /// The number of items in no segment, of the streams that have such items.
    package var outside: [StreamName: Int]?
    /// The revision of each summary in this record.
    package var summaries: [String: Int64]
    /// The user's note and the perceived exertion, 1 to 10, in exported files. Absent on the bus, where viewers read the
    /// record.
    package var note: String?
    package var exertion: Int?

    /// - Parameters:
    ///   - metrics: the latest summary of the samples, if there is one; it gives all totals.
    ///   - route: the latest summary of the locations, if there is one; it gives bounds and polyline, and the distance as
    ///     long as `metrics` has none and lacks the route.
    ///   - isComplete: whether the summaries hold all announced items.
    package init(
        _ session: Session, metrics: MetricsReport?, route: RouteReport? = nil, weather: Weather? = nil,
        isComplete: Bool, revision: Int64
    ) {
        self.session = session.key.session
        user = session.key.user
        self.revision = revision
        incomplete = isComplete ? nil : true
        edited = session.edit?.isOfRecording == true ? true : nil
        activity = session.activity
        environment = session.environment
        name = session.name
        startedAt = session.startedAt
        endedAt = session.endedAt
        timeZone = session.timeZone
        if let planned = session.planned, let end = session.endedAt {
            plan = planned.plan
            progress = session.planProgress(end)
            let rounds = planned.rounds(session.segments, endedAt: end)
            self.rounds = rounds.isEmpty ? nil : rounds
        }
        run = session.run
        notSynced = session.notSynced
        segments = session.segments
        activeDuration = thousandths(session.segments.activeDuration())
        elapsedDuration = 0
        if let start = session.startedAt, let end = session.endedAt {
            elapsedDuration = thousandths(end.seconds(since: start))
        }
        next = (metrics?.next ?? [:]).merging(route?.next ?? [:], uniquingKeysWith: max)
        let outside = (metrics?.outside ?? [:]).merging(route?.outside ?? [:], uniquingKeysWith: max)
        self.outside = outside.isEmpty ? nil : outside
        mode = session.mode
        summaries = ["metrics": metrics?.revision, "route": route?.revision].compactMapValues(\.self)
        self.weather = weather
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
        averages = totals.averages
        maxima = totals.maxima
        sums = totals.sums
        zones = totals.zones
        let splitLimit =
            plan == nil
            ? MetricsSummary.splitLimit(laps: totals.laps.count)
            : MetricsSummary.splitLimit(laps: totals.laps.count, bytes: Session.plannedSplitBytes)
        splits = Array(totals.splits.prefix(splitLimit))
        laps = totals.laps
        movingDuration = totals.movingDuration
        ascent = totals.ascent
        descent = totals.descent
        if let track = route?.totals, track.distance != nil, metrics?.route == nil, distance == nil {
            // The totals with the route follow.
            (distance, averageSpeed) = (track.distance, track.averageSpeed)
            maximumSpeed = track.maximumSpeed ?? maximumSpeed
            (ascent, descent) = (ascent ?? track.ascent, descent ?? track.descent)
        }
        (load, sources) = (totals.load, totals.sources)
        // Until the totals with the route follow, the route's own.
        sketch = totals.sketch ?? route?.totals.sketch
        bests = totals.bests
        let sets = PlannedWorkout.bestSets(performedSets)
        if sets != nil { bests = bests ?? Bests() }
        bests?.sets = sets
        bounds = route?.totals.bounds
        polyline = route.flatMap { $0.totals.polyline.isEmpty ? nil : $0.totals.polyline }
    }
}

extension WorkoutRecord {
    /// The plan's sets as they happened, and the rests between them, sorted by time.
    ///
    /// Empty for a record that no session can have.
    package var performedSets: [PlannedWorkout.PerformedSet] {
        guard let plan, let progress, let endedAt, segments.validationError == nil else { return [] }
        return PlannedWorkout(plan: plan, progress: progress.progress)?.performedSets(segments, endedAt: endedAt) ?? []
    }
}

extension Session {
    /// Whether a device announced items of a kind.
    package func announces(_ kind: StreamName.Kind) -> Bool {
        streams.contains { stream, count in stream.kind == kind && count > 0 }
    }

    /// Whether a summary holds all announced items of its kind and uses the final state of the session.
    package func isCovered<Totals>(
        _ kind: StreamName.Kind, by report: SummaryReport<Totals>?, endRevision: Int64
    ) -> Bool {
        guard let report, report.state >= endRevision else { return false }
        return streams.allSatisfy { stream, count in stream.kind != kind || report.next[stream, default: 0] >= count }
    }

    /// Whether the counts reach all announced numbers.
    package func holdsAnnounced(_ next: [StreamName: Int]) -> Bool {
        streams.allSatisfy { stream, count in next[stream, default: 0] >= count }
    }
}
