package import Workouts

/// A message to speak aloud, on `announcements`.
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
    }

    package var type: Kind
    package var at: Timestamp
    package var number: Int?
    package var text: String

    package init(_ type: Kind, at: Timestamp, number: Int? = nil, text: String) {
        self.type = type
        self.at = at
        self.number = number
        self.text = text
    }
}
