package import Bus
package import Streams
package import Workouts

/// The results that metrics-aggregator computes from samples.
enum SampleWork: StreamWork {
    static let service = "metrics-aggregator"
    static let metricsPrefix = "pacebus_aggregator_"
    static let kind = StreamName.Kind.samples
    static let inputs: [SessionTopic.Kind] = [.profile, .route, .summaryRoute, .track]

    static func finish(
        _ streams: [Device: ItemSource<Sample>], of state: SessionState, with inputs: StreamInputs
    ) -> (totals: MetricsSummary, rows: FinalRows) {
        let items = CountedItems(streams: streams, segments: state.segments)
        let totals = items.summary(
            route: inputs.route, laps: state.laps, units: state.units,
            physiology: Physiology(inputs.profile, of: state), activity: state.activity, poolLength: state.poolLength)
        return (totals, FinalRows(Series(items)))
    }

    typealias Live = LiveMetrics
}

extension LiveMetrics: LiveFold {
    package init(_ state: ProfiledState) {
        self.init(state.rules, laps: state.state.laps)
    }

    package init(streams: [Device: ItemSource<Sample>], state: ProfiledState, now: Timestamp, shown: LiveMetrics?) {
        self.init(
            streams: streams, segments: state.state.segments, rules: state.rules, laps: state.state.laps, now: now,
            shown: shown)
    }

    package mutating func continueDisplay(of shown: LiveMetrics) { keepDisplay(of: shown) }

    package static func isOther(_ state: ProfiledState, than known: ProfiledState) -> Bool {
        state.state.segments != known.state.segments || state.rules != known.rules
    }

    package mutating func follow(_ state: SessionState) -> Bool { follow(laps: state.laps) }

    package static func read(_ payload: ArraySlice<UInt8>) throws(PayloadError) -> RouteProgress {
        try RouteProgress(payload)
    }

    package mutating func receive(_ companion: RouteProgress, of state: SessionState, now: Timestamp) -> Bool {
        receive(companion, segments: state.segments, now: now)
    }

    package func payload(_ state: SessionState, revision: Int64, count: Int, isSilent: Bool) -> [UInt8] {
        snapshot(state, revision: revision, count: count, isSilent: isSilent).payload
    }
}

extension ProfiledState {
    fileprivate var rules: LiveRules { LiveRules(state, profile) }
}
