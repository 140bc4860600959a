import Bus
import Foundation
import Workouts

/// A session as it goes.
extension Written {
    /// What the clock of a session has ticked on to: of one that is told of as it goes now, else when it was last told of.
    static func moment(
        of state: SessionState, _ plan: PlanState?, _ metrics: MetricsSnapshot?, now: Timestamp
    ) -> Timestamp {
        state.isLive == true ? now : [plan?.timer.asOf, metrics?.newest].compactMap(\.self).max() ?? now
    }

    /// How long ago a revision was made: `2:13`.
    static func age(_ revision: Int64, _ now: Timestamp) -> String {
        duration(Double(now.milliseconds - revision) / 1_000)
    }

    /// One line: `12:34 · Main Lifts, rest, 0:41 left · Bench Press, set 2 of 5, 8 × 62.5 kg · 1/6 exercises · 142 bpm`.
    ///
    /// - Parameter moment: what it ticks on to; `nil` leaves out all that ticks.
    static func live(
        _ state: SessionState, _ plan: PlanState?, _ metrics: MetricsSnapshot?, at moment: Timestamp?
    ) -> String {
        var parts = [status(state, at: moment)]
        if let plan, state.status.isUnfinished {
            let clock = clock(plan, isRunning: state.status == .active, at: moment)
            let block = [block(plan), clock].compactMap(\.self)
            if !block.isEmpty { parts.append(block.joined(separator: ", ")) }
            parts += [exercise(plan), progress(plan.progress)]
        }
        if moment != nil, let metrics {
            parts += [metrics.distance.map(distance), metrics.heartRate.map(heartRate)].compactMap(\.self)
        }
        return parts.joined(separator: " · ")
    }

    /// `12:34` of one that is active, else with its status: `paused at 12:34`, `starts in 0:03`.
    private static func status(_ state: SessionState, at moment: Timestamp?) -> String {
        guard let moment else { return state.status.rawValue }
        let seconds = state.segments.activeDuration(at: moment)
        let active = duration(state.status.isUnfinished ? seconds.rounded(.down) : seconds)
        switch state.status {
        case .preparing:
            guard let end = state.countdownEndsAt else { return "preparing" }
            return "starts in \(duration(max(0, end.seconds(since: moment)).rounded(.up)))"
        case .active: return active
        case .paused, .suspended: return "\(state.status.rawValue) at \(active)"
        case .saving, .completed, .canceled, .deleted: return "\(state.status.rawValue), \(active)"
        }
    }
}

extension SessionStatus {
    /// Whether it goes on, or can go on.
    var isUnfinished: Bool {
        switch self {
        case .preparing, .active, .paused, .suspended: true
        case .saving, .completed, .canceled, .deleted: false
        }
    }
}
