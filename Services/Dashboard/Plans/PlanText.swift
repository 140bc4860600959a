import Foundation
import Workouts

/// Loads and times as people write them: `62.5 kg`, `135 lb`, `1:30`, `45 s`, `1 h 15 min`.
///
/// What ``weight(_:_:)`` and ``time(_:)`` write is read as exactly the same number, so that a form changes nothing that
/// a person did not touch.
enum PlanText {
    private static let kilogramsPerPound = 0.45359237

    /// In the reader's units, unless they would change the number.
    static func weight(_ kilograms: Double, _ units: Units) -> String {
        if units == .imperial {
            let text = "\(short((kilograms / kilogramsPerPound * 10).rounded() / 10)) lb"
            if self.kilograms(text, units) == kilograms { return text }
        }
        return "\(short(kilograms)) kg"
    }

    /// Kilograms; a number without a unit counts in the reader's.
    static func kilograms(_ text: String, _ units: Units) -> Double? {
        guard let parts = quantities(text), parts.count == 1, let part = parts.first else { return nil }
        switch part.unit {
        case "kg", "kgs": return part.number
        case "lb", "lbs": return part.number * kilogramsPerPound
        case "": return units == .imperial ? part.number * kilogramsPerPound : part.number
        default: return nil
        }
    }

    /// `1:30`, from an hour `1:05:00`; with fractions `12.5 s`.
    static func time(_ seconds: Double) -> String {
        guard seconds >= 0, seconds < 1e6, seconds == seconds.rounded() else { return "\(short(seconds)) s" }
        let all = Int(seconds)
        let (hours, minutes) = (all / 3_600, all / 60 % 60)
        return hours > 0
            ? String(format: "%d:%02d:%02d", hours, minutes, all % 60) : String(format: "%d:%02d", minutes, all % 60)
    }

    /// Seconds; a number without a unit counts as seconds.
    static func seconds(_ text: String) -> Double? {
        if text.contains(":") {
            let parts = text.trimmingCharacters(in: .whitespaces).split(
                separator: ":", omittingEmptySubsequences: false)
            let numbers = parts.map { part in part.count <= 6 && part.allSatisfy(isDigit) ? Int(part) : nil }
            guard (2...3).contains(parts.count), !numbers.contains(nil) else { return nil }
            let values = numbers.compactMap(\.self)
            guard values.dropFirst().allSatisfy({ $0 < 60 }) else { return nil }
            return Double(values.reduce(0) { $0 * 60 + $1 })
        }
        guard let parts = quantities(text) else { return nil }
        let seconds = parts.map { part -> Double? in
            switch part.unit {
            case "h", "hour", "hours": part.number * 3_600
            case "min", "m", "minute", "minutes": part.number * 60
            case "s", "sec", "second", "seconds": part.number
            case "" where parts.count == 1: part.number
            default: nil
            }
        }
        return seconds.contains(nil) ? nil : seconds.compactMap(\.self).reduce(0, +)
    }

    static func whole(_ text: String) -> Int? {
        let text = text.trimmingCharacters(in: .whitespaces)
        return (1...9).contains(text.count) && text.allSatisfy(isDigit) ? Int(text) : nil
    }

    private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }

    private static func short(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e9 ? String(Int(value)) : "\(value)"
    }

    /// Numbers with their units, such as `1 h 15 min`; `nil` for anything else. A comma is a decimal point.
    private static func quantities(_ text: String) -> [(number: Double, unit: String)]? {
        var rest = text.lowercased().replacing(",", with: ".")[...]
        var parts: [(Double, String)] = []
        while true {
            rest = rest.drop(while: \.isWhitespace)
            if rest.isEmpty { return parts.isEmpty ? nil : parts }
            var digits = rest.prefix { isDigit($0) || $0 == "." }
            // `\(Double)` writes very small and large numbers with an exponent.
            if let mark = rest[digits.endIndex...].first, mark == "e" {
                let exponent = rest[digits.endIndex...].dropFirst().prefix { isDigit($0) || $0 == "-" || $0 == "+" }
                if !exponent.isEmpty { digits = rest[..<exponent.endIndex] }
            }
            guard digits.first.map(isDigit) == true, let number = Double(digits), number.isFinite else { return nil }
            rest = rest[digits.endIndex...].drop(while: \.isWhitespace)
            let unit = rest.prefix(while: \.isLetter)
            rest = rest[unit.endIndex...]
            parts.append((number, String(unit)))
        }
    }
}
