import Foundation
import Workouts

/// Values as people write them.
enum Written {
    /// `4.92 km`, or `733 m` below a kilometre.
    static func distance(_ metres: Double) -> String {
        metres < 1000 ? "\(Int(metres.rounded())) m" : String(format: "%.2f km", metres / 1000)
    }

    /// `24:00`, or `1:44:14` from an hour on.
    static func duration(_ seconds: Double) -> String {
        let whole = Int(min(max(seconds, 0), 1e9).rounded())
        let (hours, minutes) = (whole / 3600, whole / 60 % 60)
        return hours > 0
            ? String(format: "%d:%02d:%02d", hours, minutes, whole % 60)
            : String(format: "%d:%02d", minutes, whole % 60)
    }

    /// `5:45 /km`.
    static func pace(_ secondsPerKilometre: Double) -> String { "\(duration(secondsPerKilometre)) /km" }

    static func heartRate(_ beatsPerMinute: Double) -> String { "\(Int(beatsPerMinute.rounded())) bpm" }

    /// `8 °C and partly cloudy`.
    static func weather(_ weather: Weather) -> String {
        let words = weather.condition.rawValue.replacing(/[A-Z]/) { " \($0.output.lowercased())" }
        let degrees = "\(Int(weather.temperature.rounded())) °C"
        return weather.condition == .unknown ? degrees : "\(degrees) and \(words)"
    }

    /// A finished workout in one line.
    static func summary(_ workout: WorkoutRecord) -> String {
        let parts = [
            workout.distance.map(distance), duration(workout.activeDuration),
            workout.averageHeartRate.map { "average heart rate \(heartRate($0))" },
            workout.progress.map(progress), workout.ascent.flatMap { $0 >= 1 ? "\(Int($0.rounded())) m up" : nil },
            workout.weather.map(weather),
            workout.incomplete == true ? "incomplete: other devices' items are still missing" : nil,
        ]
        return "\(workout.name): \(parts.compactMap(\.self).joined(separator: ", "))"
    }
}

extension Written {
    /// `paused, 12:34 active`.
    static func status(_ state: SessionState, _ now: Timestamp) -> String {
        guard !state.segments.isEmpty else { return state.status.rawValue }
        let seconds = state.segments.activeDuration(at: now)
        let active = duration(state.status.isUnfinished ? seconds.rounded(.down) : seconds)
        return "\(state.status.rawValue), \(active) active"
    }

    /// Live metrics, one to a line; what is not known is left out.
    static func metrics(_ metrics: MetricsSnapshot) -> String {
        let rows: [(String, String?)] = [
            ("distance", metrics.distance.map(distance)),
            ("pace", metrics.pace.map(pace)),
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
}
