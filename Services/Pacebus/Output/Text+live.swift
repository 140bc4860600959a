import Bus
import Client
import Foundation
import Workouts

/// The text of a session.
extension Text {
    /// `paused, 12:34 active`.
    static func status(_ state: SessionState, _ now: Timestamp) -> String {
        guard !state.segments.isEmpty else { return state.status.rawValue }
        let seconds = state.segments.activeDuration(at: now)
        let active = duration(state.status.isUnfinished ? seconds.rounded(.down) : seconds)
        return "\(state.status.rawValue), \(active) active"
    }

    /// Live metrics, one to a line, without unknown ones.
    static func metrics(_ metrics: MetricsSnapshot) -> String {
        let rows: [(String, String?)] = [
            ("distance", metrics.distance.map(distance)),
            ("pace", metrics.pace.map { pace($0) }),
            ("heart rate", metrics.heartRate.map(heartRate)),
            ("average heart rate", metrics.averageHeartRate.map(heartRate)),
            ("ascent", metrics.ascent.map { "\(Int($0.rounded())) m" }),
            ("energy", metrics.activeEnergy.map { "\(Int($0.rounded())) kcal" }),
            ("cadence", metrics.cadence.map { "\(Int($0.rounded())) /min" }),
            ("power", metrics.power.map { "\(Int($0.rounded())) W" }),
            ("battery", metrics.battery.map { "\(Int(($0 * 100).rounded())) %" }),
            ("items", "\(metrics.count)"),
        ]
        return rows.map { name, value in value.map { "  \(name): \($0)\n" } ?? "" }.joined()
    }

    /// The time of a session's clock: now for a live session, else the time of its newest message.
    static func moment(
        of state: SessionState, _ plan: PlanState?, _ metrics: MetricsSnapshot?, now: Timestamp
    ) -> Timestamp {
        state.isLive == true ? now : [plan?.timer.asOf, metrics?.newest].compactMap(\.self).max() ?? now
    }

    /// The age of a revision: `2:13`.
    static func age(_ revision: Int64, _ now: Timestamp) -> String {
        duration(Double(now.milliseconds - revision) / 1_000)
    }

    /// One line: `12:34 · Main Lifts, rest, 0:41 left · Bench Press, set 2 of 5, 8 × 62.5 kg · 1/6 exercises · 142 bpm`.
    ///
    /// - Parameter moment: the time of running clocks; `nil` leaves them out.
    static func live(
        _ state: SessionState, _ plan: PlanState?, _ metrics: MetricsSnapshot?, at moment: Timestamp?
    ) -> String {
        var parts = [status(state, at: moment)]
        if let plan, state.status.isUnfinished {
            let clock = clock(plan, isRunning: state.status == .active, at: moment)
            let block = [block(plan), clock].compactMap(\.self)
            if !block.isEmpty { parts.append(block.joined(separator: ", ")) }
            parts += [exercise(plan), done(plan)]
        }
        if moment != nil, let metrics {
            parts += [metrics.distance.map(distance), metrics.heartRate.map(heartRate)].compactMap(\.self)
        }
        return parts.joined(separator: " · ")
    }

    /// `12:34` for an active session, else with its status: `paused at 12:34`, `starts in 0:03`.
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
    /// Whether the session runs or can be resumed.
    var isUnfinished: Bool {
        switch self {
        case .preparing, .active, .paused, .suspended: true
        case .saving, .completed, .canceled, .deleted: false
        }
    }
}
