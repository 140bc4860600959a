package import Bus
import Streams
package import Workouts

/// The results that metrics-aggregator computes from samples.
enum SampleWork: StreamWork {
    static let service = "metrics-aggregator"
    static let metricsPrefix = "pacebus_aggregator_"
    static let kind = StreamName.Kind.samples
    static let companion: (topic: SessionTopic, filter: SessionTopic.Kind)? = (.route, .route)

    static func finish(
        _ streams: [Device: ItemSource<Sample>], of state: SessionState
    ) -> (totals: MetricsSummary, rows: FinalRows) {
        let items = CountedItems(streams: streams, segments: state.segments)
        let totals = items.summary(laps: state.laps, units: state.units, physiology: Physiology(state))
        return (totals, FinalRows(Series(items)))
    }

    typealias Live = LiveMetrics
}

extension LiveMetrics: LiveFold {
    package init(_ state: SessionState) {
        self.init(physiology: Physiology(state), units: state.units)
    }

    package init(streams: [Device: ItemSource<Sample>], state: SessionState, now: Timestamp, shown: LiveMetrics?) {
        self.init(
            streams: streams, segments: state.segments, physiology: Physiology(state), units: state.units, now: now,
            shown: shown)
    }

    package mutating func continueDisplay(of shown: LiveMetrics) { keepDisplay(of: shown) }

    package static func isOther(_ state: SessionState, than known: SessionState) -> Bool {
        state.segments != known.segments || state.units != known.units || Physiology(state) != Physiology(known)
    }

    package static func read(_ payload: ArraySlice<UInt8>) throws(PayloadError) -> RouteProgress {
        try JSONCoding.decode(RouteProgress.self, from: payload)
    }

    package mutating func receive(_ companion: RouteProgress, of state: SessionState) -> Bool {
        receive(companion, segments: state.segments)
    }

    package func payload(_ state: SessionState, revision: Int64, count: Int, isSilent: Bool) -> [UInt8] {
        snapshot(state, revision: revision, count: count, isSilent: isSilent).payload
    }
}
