package import Bus
package import Streams
package import Workouts

/// The results that route-builder computes from locations.
enum RouteWork: StreamWork {
    static let service = "route-builder"
    static let metricsPrefix = "pacebus_route_"
    static let kind = StreamName.Kind.locations
    static let inputs: [SessionTopic.Kind] = []

    static func finish(
        _ streams: [Device: ItemSource<Location>], of state: SessionState, with inputs: StreamInputs
    ) -> (totals: RouteSummary, rows: FinalRows) {
        let locations = CountedLocations(
            streams: streams, segments: state.segments, activity: state.activity,
            environment: state.environment)
        let totals = locations.summary()
        return (totals, FinalRows(Track(consume locations)))
    }

    typealias Live = LiveRoute
}

extension LiveRoute: LiveFold {
    /// None: metrics-aggregator announces splits and laps, because it reads whether a device measures the distance.
    package var splitCount: Int { 0 }
    package var split: LiveStretch? { nil }
    package func lap(_ number: Int, of state: SessionState) -> LiveStretch? { nil }
    package mutating func follow(_ state: SessionState) -> Bool { true }

    package init(_ state: ProfiledState) {
        self.init(activity: state.state.activity, environment: state.state.environment)
    }

    package init(streams: [Device: ItemSource<Location>], state: ProfiledState, now: Timestamp, shown: LiveRoute?) {
        let state = state.state
        self.init(
            streams: streams, segments: state.segments, activity: state.activity, environment: state.environment,
            now: now)
    }

    /// A route displays nothing that lasts.
    package mutating func continueDisplay(of shown: LiveRoute) {}

    package static func isOther(_ state: ProfiledState, than known: ProfiledState) -> Bool {
        let (state, known) = (state.state, known.state)
        return state.segments != known.segments || state.activity != known.activity
            || state.environment != known.environment
    }

    package static func read(_ payload: ArraySlice<UInt8>) throws(PayloadError) -> Never {
        throw .malformed("route-builder takes in no route")
    }

    package mutating func receive(_ companion: Never, of state: SessionState, now: Timestamp) -> Bool {}

    package func payload(_ state: SessionState, revision: Int64, count: Int, isSilent: Bool) -> [UInt8] {
        snapshot(state, revision: revision, count: count, isSilent: isSilent).payload
    }
}
