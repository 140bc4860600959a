package import Bus
import Foundation
package import Workouts

/// The text that commands print.
package enum Text {
    /// `4.92 km`, or `733 m` below a kilometre.
    package static func distance(_ metres: Double) -> String {
        metres < 1000 ? "\(Int(metres.rounded())) m" : String(format: "%.2f km", metres / 1000)
    }

    /// `24:00`, or `1:44:14` from an hour on.
    package static func duration(_ seconds: Double) -> String {
        let whole = Int(min(max(seconds, 0), 1e9).rounded())
        let (hours, minutes) = (whole / 3600, whole / 60 % 60)
        return hours > 0
            ? String(format: "%d:%02d:%02d", hours, minutes, whole % 60)
            : String(format: "%d:%02d", minutes, whole % 60)
    }

    /// How far behind someone is: `+0:37`, or `+0:08.3` below 10 s.
    package static func behind(_ seconds: Double) -> String {
        let tenths = (seconds * 10).rounded()
        return (0..<100).contains(tenths) ? String(format: "+0:%04.1f", tenths / 10) : "+\(duration(seconds))"
    }

    /// `5:45 /km`, or `1:45 /100 m` of swimming.
    package static func pace(_ secondsPerKilometre: Double, _ activity: Activity? = nil) -> String {
        activity?.isSwimming == true
            ? "\(duration(secondsPerKilometre / 10)) /100 m" : "\(duration(secondsPerKilometre)) /km"
    }

    package static func heartRate(_ beatsPerMinute: Double) -> String { "\(Int(beatsPerMinute.rounded())) bpm" }

    /// `8 °C and partly cloudy`.
    package static func weather(_ weather: Weather) -> String {
        let words = weather.condition.rawValue.reduce(into: "") { words, letter in
            words += letter.isUppercase ? " \(letter.lowercased())" : "\(letter)"
        }
        let degrees = "\(Int(weather.temperature.rounded())) °C"
        return weather.condition == .unknown ? degrees : "\(degrees) and \(words)"
    }

    /// What an announcement says: `Kilometer 3 in 4:31, 148 bpm`; `nil` without words.
    package static func announcement(_ announcement: Announcement, _ activity: Activity? = nil) -> String? {
        let number = announcement.number.map { " \($0)" } ?? ""
        let time = announcement.duration.map { " in \(duration($0))" } ?? ""
        let rate = announcement.averageHeartRate.map(heartRate)
        switch announcement.kind {
        case .split: return ["\(unit(announcement))\(number)\(time)", rate].compactMap(\.self).joined(separator: ", ")
        case .lap:
            let length = announcement.distance.map { ": \(distance($0))" } ?? ""
            let speed = announcement.pace.map { pace($0, activity) }
            return ["Lap\(number)\(length)\(time)", speed, rate].compactMap(\.self).joined(separator: ", ")
        case .clockSkew:
            guard let device = announcement.device, let seconds = announcement.seconds else { return nil }
            return "the \(device.kind)'s clock is \(Int(seconds.magnitude.rounded())) s off"
        case .interval: return announcement.text
        case .warning: return announcement.text.map { "warning: \($0)" }
        case .gap:
            let place = announcement.place.map { "place \($0)" }
            let ahead = announcement.ahead.map { "\(name($0.user, $0.ghost))\(gap($0)) ahead" }
            let behind = announcement.behind.map { "\(name($0.user, $0.ghost))\(gap($0)) behind" }
            let parts = [place, ahead, behind].compactMap(\.self).joined(separator: ", ")
            return "\(unit(announcement))\(number): \(parts)"
        case .lead:
            let partner = name(announcement.user, announcement.ghost)
            return announcement.taken == true ? "you are ahead of \(partner)" : "\(partner) is ahead of you"
        case .finished:
            let parts = [announcement.distance.map(distance), announcement.pace.map { pace($0, activity) }]
            let values = parts.compactMap(\.self).joined(separator: ", ")
            return "\(name(announcement.user, announcement.ghost)) finished\(values.isEmpty ? "" : ": \(values)")"
        case .lost: return "no data from your partners; keep waiting, or run on alone"
        case .left: return "\(name(announcement.user, announcement.ghost)) left the run"
        }
    }

    private static func unit(_ announcement: Announcement) -> String {
        announcement.unit == .mile ? "Mile" : "Kilometer"
    }

    private static func gap(_ neighbor: Announcement.Neighbor) -> String {
        neighbor.seconds.map { " \(Int($0.rounded())) s" } ?? ""
    }

    /// `ben`, or `ghost 2`.
    package static func name(_ user: User?, _ ghost: Int?) -> String {
        user.map { "\($0)" } ?? ghost.map { "ghost \($0)" } ?? "a partner"
    }

    /// `2/6 exercises`.
    package static func progress(_ progress: ProgressReport) -> String {
        "\(progress.done)/\(progress.total) exercises"
    }

    /// `5 rounds and 12 repetitions` of an AMRAP block.
    package static func score(_ score: SessionPlan.Score) -> String {
        let rounds = "\(score.rounds) round\(score.rounds == 1 ? "" : "s")"
        guard score.repetitions > 0 else { return rounds }
        return "\(rounds) and \(score.repetitions) repetition\(score.repetitions == 1 ? "" : "s")"
    }

    /// A finished workout in one line.
    package static func summary(_ workout: WorkoutRecord) -> String {
        let parts = [
            workout.distance.map(distance), duration(workout.activeDuration),
            workout.averageHeartRate.map { "average heart rate \(heartRate($0))" },
            workout.progress.map { done in
                workout.plan?.score(done.progress).map(score) ?? progress(done)
            }, workout.ascent.flatMap { $0 >= 1 ? "\(Int($0.rounded())) m up" : nil },
            workout.weather.map(weather),
            workout.incomplete == true ? "incomplete: items of other devices are missing" : nil,
        ]
        return "\(workout.name): \(parts.compactMap(\.self).joined(separator: ", "))"
    }
}
