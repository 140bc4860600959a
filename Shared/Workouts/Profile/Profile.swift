package import Foundation

/// A user's profile. Every field is optional.
package struct Profile: Codable, Hashable, Sendable {
    package enum Sex: String, Codable, Sendable {
        case female, male, other
    }

    package var units: Units?
    package var birthYear: Int?
    package var sex: Sex?
    /// Kilograms.
    package var weight: Double?
    package var restingHeartRate: Double?
    package var maximumHeartRate: Double?
    /// The heart rate that the user can hold for about an hour.
    package var thresholdHeartRate: Double?
    /// The power in watts that the user can hold for about an hour.
    package var thresholdPower: Double?
    /// The four rising limits between the five heart rate zones, in beats per minute.
    package var zones: [Double]?
    /// An IANA time zone.
    package var timeZone: String?

    package init() {}
}

extension Profile {
    private enum Key: String, CodingKey {
        case units, birthYear, sex, weight, restingHeartRate, maximumHeartRate, thresholdHeartRate, thresholdPower
        case zones, timeZone
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        units = try container.decodeIfPresent(Units.self, forKey: .units)
        // Decoded as any number, because the error of decoding a fraction as `Int` does not name the field.
        birthYear = try container.decodeIfPresent(Double.self, forKey: .birthYear).map { year in
            guard let whole = Int(exactly: year) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .birthYear, in: container, debugDescription: "not a whole year")
            }
            return whole
        }
        sex = try container.decodeIfPresent(Sex.self, forKey: .sex)
        weight = try container.decodeIfPresent(Double.self, forKey: .weight)
        restingHeartRate = try container.decodeIfPresent(Double.self, forKey: .restingHeartRate)
        maximumHeartRate = try container.decodeIfPresent(Double.self, forKey: .maximumHeartRate)
        thresholdHeartRate = try container.decodeIfPresent(Double.self, forKey: .thresholdHeartRate)
        thresholdPower = try container.decodeIfPresent(Double.self, forKey: .thresholdPower)
        zones = try container.decodeIfPresent([Double].self, forKey: .zones)
        timeZone = try container.decodeIfPresent(String.self, forKey: .timeZone)
    }

    /// The first invalid field and what it allows; `nil` if the profile is valid.
    package func validationError(year: Int) -> String? {
        func outside<Value: Comparable>(_ value: Value?, _ range: ClosedRange<Value>) -> Bool {
            value.map { !range.contains($0) } ?? false
        }
        if outside(birthYear, year - 120...year) { return "birthYear: \(year - 120) to \(year)" }
        if outside(weight, 20...400) { return "weight: 20 to 400 kg" }
        if outside(restingHeartRate, 20...150) { return "restingHeartRate: 20 to 150" }
        if outside(maximumHeartRate, 80...250) { return "maximumHeartRate: 80 to 250" }
        if outside(thresholdHeartRate, 60...240) { return "thresholdHeartRate: 60 to 240" }
        if outside(thresholdPower, 30...1_000) { return "thresholdPower: 30 to 1000 W" }
        if let zones,
            zones.count != 4 || zip(zones, zones.dropFirst()).contains(where: >=)
                || zones.contains(where: { !(20...300 ~= $0) })
        {
            return "zones: four rising limits from 20 to 300"
        }
        return nil
    }
}

extension TimeZone {
    /// Whether a text is an IANA name, such as `Europe/Berlin`, `Japan` or `CET`.
    ///
    /// Foundation also accepts offsets (`GMT+3`) and abbreviations (`PST`), which other systems do not support.
    package static func isIANA(_ identifier: String) -> Bool {
        guard identifier.utf8.count <= 64 else { return false }
        return (identifier.contains("/") || plainNames.contains(identifier)) && TimeZone(identifier: identifier) != nil
    }

    /// The names of the IANA database without an area.
    private static let plainNames: Set<String> = [
        "CET", "CST6CDT", "Cuba", "EET", "EST", "EST5EDT", "Egypt", "Eire", "GB", "GB-Eire", "GMT", "GMT+0", "GMT-0",
        "GMT0", "Greenwich", "HST", "Hongkong", "Iceland", "Iran", "Israel", "Jamaica", "Japan", "Kwajalein", "Libya",
        "MET", "MST", "MST7MDT", "NZ", "NZ-CHAT", "Navajo", "PRC", "PST8PDT", "Poland", "Portugal", "ROC", "ROK",
        "Singapore", "Turkey", "UCT", "UTC", "Universal", "W-SU", "WET", "Zulu",
    ]
}
