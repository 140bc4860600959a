package import Workouts

/// A message to speak aloud, on `announcements`. A client makes the words from the values; absent means not measured.
package struct Announcement: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// A lap ended; `number` is its number.
        case lap
        /// A kilometre or mile is completed; `number` is its number.
        case split
        /// A phase of the plan's clock began; `number` is its round.
        case interval
        /// A failure that the user should know about.
        case warning
        /// The clock of `device` is `seconds` ahead; a negative number is behind.
        case clockSkew = "clock_skew"
    }

    /// The unit of a split.
    package enum Unit: String, Codable, Sendable {
        case kilometer = "km"
        case mile = "mi"

        package init(_ units: Units) { self = units == .imperial ? .mile : .kilometer }
    }

    package var kind: Kind
    package var at: Timestamp
    package var number: Int?
    package var unit: Unit?
    /// Active seconds of a split or lap.
    package var duration: Double?
    /// Metres of a lap.
    package var distance: Double?
    /// Seconds per kilometre.
    package var pace: Double?
    package var averageHeartRate: Double?
    package var device: Device?
    package var seconds: Double?
    /// The words of a phase or warning.
    package var text: String?

    package init(_ kind: Kind, at: Timestamp, number: Int? = nil, text: String? = nil) {
        self.kind = kind
        self.at = at
        self.number = number
        self.text = text
    }
}
