package import Workouts

/// Something worth saying aloud, on `announcements`.
package struct Announcement: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// A lap was taken; `number` is the lap that ended.
        case lap
        /// A kilometre or mile is done; `number` says which.
        case split
        /// Another phase of the plan's clock is on; `number` is its round.
        case interval
        /// Something went wrong that the user should know of.
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
