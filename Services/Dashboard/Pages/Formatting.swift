import Foundation
import Workouts

/// Numbers as text, as `Web/modules/format.js` writes them; `Tests/DashboardTests/modules/format.json` tests both.
struct Formatting {
    var units = Units.metric
    var activity: Activity?

    /// A number and its unit, which may be empty.
    struct Text: Equatable {
        static let unknown = Text(number: "--", unit: nil)

        let number: String
        let unit: String?

        var joined: String { unit.map { "\(number) \($0)" } ?? number }
    }

    /// A text of a card or table. Template `value` lets screen readers speak the unknown, as `value` in `dom.js` does.
    struct Value: Equatable, Encodable, Sendable {
        let text: String
        let isUnknown: Bool
        /// What is unknown, if no label says it: `heart rate`.
        let name: String

        init(_ text: String, name: String = "") {
            self.text = text
            isUnknown = text.hasPrefix(Text.unknown.number)
            self.name = name
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }

    private static let metresPerMile = Units.imperial.splitLength
    private static let metresPerYard = 0.9144
    private var isImperial: Bool { units == .imperial }

    /// `05:07`, from an hour on `1:05:07`; rounded down, because a clock shows what has passed.
    func duration(_ seconds: Double) -> Text {
        let all = Int(min(max(0, seconds), 1e9).rounded(.down))
        let (hours, minutes) = (all / 3600, all / 60 % 60)
        return Text(
            number: (hours > 0 ? "\(hours):" : "") + String(format: "%02d:%02d", minutes, all % 60), unit: nil)
    }

    func distance(_ metres: Double) -> Text {
        if activity?.isSwimming == true {
            return isImperial
                ? Text(number: Self.grouped(metres / Self.metresPerYard), unit: "yd")
                : Text(number: Self.grouped(metres), unit: "m")
        }
        let length = metres / (isImperial ? Self.metresPerMile : 1000)
        let digits = Self.whole(length * 100) < 10_000 ? 2 : 1
        return Text(number: Self.decimal(length, digits), unit: isImperial ? "mi" : "km")
    }

    /// A distance for a glance: `5.2 km`.
    func roughDistance(_ metres: Double) -> Text {
        guard activity?.isSwimming != true else { return distance(metres) }
        return Text(
            number: Self.decimal(metres / (isImperial ? Self.metresPerMile : 1000), 1), unit: isImperial ? "mi" : "km")
    }

    func pace(_ secondsPerKilometre: Double) -> Text {
        if activity?.isSwimming == true {
            return isImperial
                ? Text(number: Self.minutes(secondsPerKilometre * Self.metresPerYard / 10), unit: "/100 yd")
                : Text(number: Self.minutes(secondsPerKilometre / 10), unit: "/100 m")
        }
        return isImperial
            ? Text(number: Self.minutes(secondsPerKilometre * Self.metresPerMile / 1000), unit: "/mi")
            : Text(number: Self.minutes(secondsPerKilometre), unit: "/km")
    }

    func speed(_ metresPerSecond: Double) -> Text {
        isImperial
            ? Text(number: Self.decimal(metresPerSecond * 3600 / Self.metresPerMile, 1), unit: "mph")
            : Text(number: Self.decimal(metresPerSecond * 3.6, 1), unit: "km/h")
    }

    func heartRate(_ beatsPerMinute: Double) -> Text { Text(number: Self.grouped(beatsPerMinute), unit: "bpm") }

    func power(_ watts: Double) -> Text { Text(number: Self.grouped(watts), unit: "W") }

    func energy(_ kilocalories: Double, isEstimated: Bool) -> Text {
        Text(number: (isEstimated ? "~" : "") + Self.grouped(kilocalories), unit: "kcal")
    }

    func cadence(_ perMinute: Double) -> Text {
        let unit = activity?.cadenceUnit ?? .unnamed
        return Text(number: Self.grouped(perMinute), unit: unit.rawValue)
    }

    func height(_ metres: Double) -> Text {
        isImperial
            ? Text(number: Self.grouped(metres / 0.3048), unit: "ft") : Text(number: Self.grouped(metres), unit: "m")
    }

    func weight(_ kilograms: Double) -> Text {
        let number = Self.decimal(isImperial ? kilograms / 0.45359237 : kilograms, 1)
        return Text(
            number: number.hasSuffix(".0") ? String(number.dropLast(2)) : number, unit: isImperial ? "lb" : "kg")
    }

    func temperature(_ celsius: Double) -> Text {
        isImperial
            ? Text(number: Self.grouped(celsius * 1.8 + 32), unit: "°F")
            : Text(number: Self.grouped(celsius), unit: "°C")
    }

    /// A fraction as percent.
    func share(_ fraction: Double) -> Text { Text(number: Self.grouped(fraction * 100), unit: "%") }

    func count(_ value: Double) -> Text { Text(number: Self.grouped(value), unit: nil) }

    /// `8 °C · 76 %`.
    func weather(_ celsius: Double, humidity: Double?) -> String {
        [temperature(celsius), humidity.map(share)].compactMap { $0?.joined }.joined(separator: " · ")
    }

    /// `Sat 21 Nov 2026, 06:15` in the workout's zone.
    static func date(_ time: Timestamp, zone: String?) -> String {
        let parts = parts(time, zone)
        let weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][(parts.weekday ?? 1) - 1]
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = names[(parts.month ?? 1) - 1]
        let clock = String(format: "%02d:%02d", parts.hour ?? 0, parts.minute ?? 0)
        return "\(weekday) \(parts.day ?? 1) \(month) \(parts.year ?? 0), \(clock)"
    }

    /// `12:01:07`.
    static func timeOfDay(_ time: Timestamp, zone: String?) -> String {
        let parts = parts(time, zone)
        return String(format: "%02d:%02d:%02d", parts.hour ?? 0, parts.minute ?? 0, parts.second ?? 0)
    }

    private static func parts(_ time: Timestamp, _ zone: String?) -> DateComponents {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone.flatMap { TimeZone(identifier: $0) } ?? .gmt
        return calendar.dateComponents(
            [.weekday, .day, .month, .year, .hour, .minute, .second], from: Date(timeIntervalSince1970: time.seconds))
    }

    /// Half rounds up. JavaScript rounds alike.
    private static func whole(_ value: Double) -> Int { Int(min(max(-1e15, value + 0.5), 1e15).rounded(.down)) }

    /// `12,345`, `−3`.
    private static func grouped(_ value: Double) -> String {
        let whole = whole(value)
        var digits = String(whole.magnitude)
        for place in stride(from: digits.count - 3, to: 0, by: -3) {
            digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
        }
        return (whole < 0 ? "\u{2212}" : "") + digits
    }

    private static func decimal(_ value: Double, _ digits: Int) -> String {
        let scale = digits == 2 ? 100 : 10
        let scaled = whole(value * Double(scale))
        return "\(scaled / scale)." + String(format: "%0\(digits)d", scaled % scale)
    }

    /// `5:45`, `0:42`, from an hour on `1:05:07`.
    private static func minutes(_ seconds: Double) -> String {
        let all = whole(max(0, seconds))
        return all < 3_600
            ? "\(all / 60):" + String(format: "%02d", all % 60) : Formatting().duration(Double(all)).number
    }
}
