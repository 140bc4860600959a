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
    static func metrics(_ metrics: MetricsSnapshot, _ activity: Activity) -> String {
        let rows: [(String, String?)] = [
            ("distance", metrics.distance.map(distance)),
            ("pace", metrics.pace.map { pace($0, activity) }),
            ("average pace", metrics.averagePace.map { pace($0, activity) }),
            ("speed", metrics.pace == nil ? metrics.speed.map(speed) : nil),
            (
                "average speed",
                metrics.averagePace == nil ? metrics.averageSpeed(metrics.activeSeconds).map(speed) : nil
            ),
            ("moving time", metrics.movingSeconds.map(duration)),
            ("lap", metrics.lap > 1 ? lap(metrics.lap, metrics.lapSeconds, metrics.lapDistance) : nil),
            ("heart rate", metrics.heartRate.map(heartRate)),
            ("average heart rate", metrics.averageHeartRate.map(heartRate)),
            ("ascent", metrics.ascent.map { "\(Int($0.rounded())) m" }),
            ("energy", metrics.activeEnergy.map { "\(Int($0.rounded())) kcal" }),
            ("cadence", metrics.cadence.map { "\(Int($0.rounded())) /min" }),
            ("power", metrics.power.map { "\(Int($0.rounded())) W" }),
            ("average power", metrics.averagePower.map { "\(Int($0.rounded())) W" }),
            ("steps", metrics.steps.map { "\(Int($0.rounded()))" }),
            ("items", "\(metrics.count)"),
        ]
        let devices = metrics.devices.sorted { $0.key < $1.key }.map { device, presence in
            let battery = presence.battery.map { "battery \(Int(($0 * 100).rounded())) %, " } ?? ""
            let silence = max(0, metrics.newest?.seconds(since: presence.newest) ?? 0)
            return ("\(device)", battery + (silence > 15 ? "silent for \(duration(silence))" : "sending"))
        }
        return (rows + devices).map { name, value in value.map { "  \(name): \($0)\n" } ?? "" }.joined()
    }

    /// The commands of this program that change the session now, besides those of a plan.
    static func commands(_ state: SessionState) -> String {
        let kinds: [SessionAction.Kind] = [.pause, .resume, .lap, .suspend, .end, .discard, .recover]
        let names = kinds.filter(state.allows).map(\.rawValue)
        return names.isEmpty ? "" : "  possible now: \(names.joined(separator: ", "))\n"
    }

    /// `24.5 km/h`.
    private static func speed(_ metresPerSecond: Double) -> String {
        String(format: "%.1f km/h", metresPerSecond * 3.6)
    }

    /// `3, 1:05, 210 m`.
    private static func lap(_ number: Int, _ seconds: Double?, _ metres: Double?) -> String {
        (["\(number)"] + [seconds.map { duration($0.rounded(.down)) }, metres.map(distance)].compactMap(\.self))
            .joined(separator: ", ")
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
            let tempo = metrics.displayPace.map { pace($0, state.activity) } ?? metrics.displaySpeed.map(speed)
            parts += [metrics.distance.map(distance), tempo, metrics.heartRate.map(heartRate)].compactMap(\.self)
        }
        if let moment, let last = state.laps.last, state.status.isUnfinished {
            let seconds = state.segments.activeDuration(at: moment) - state.segments.activeDuration(at: last)
            // A snapshot from before the lap has the distance of another.
            let metres = metrics?.lap == state.laps.count + 1 ? metrics?.lapDistance : nil
            parts.append("lap \(lap(state.laps.count + 1, max(0, seconds), metres))")
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
