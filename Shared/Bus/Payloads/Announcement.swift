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
        /// In a virtual run: the reader completed a kilometre or mile; `number`, `unit`, `place`, `ahead`, `behind`.
        case gap
        /// In a virtual run: the reader passed `user` (`taken`), or `user` passed the reader.
        case lead
        /// In a virtual run: `user` reached the goal or ended; `distance`, `pace`.
        case finished
        /// In a virtual run: no data of any partner for 180 s after the link was lost.
        case lost
        /// In a virtual run: `user` left it.
        case left
    }

    /// The next runner ahead or behind in a virtual run.
    package struct Neighbor: Codable, Hashable, Sendable {
        package var user: User?
        /// The number of a ghost.
        package var ghost: Int?
        /// Both positive.
        package var seconds: Double?
        package var meters: Double?

        package init(_ runner: Runner, seconds: Double?, meters: Double?) {
            switch runner {
            case .participant(let user): self.user = user
            case .ghost(let number): ghost = number
            }
            self.seconds = seconds
            self.meters = meters
        }
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
    /// The partner in a virtual run, or the number of a ghost.
    package var user: User?
    package var ghost: Int?
    /// The reader's place in a virtual run, from 1.
    package var place: Int?
    package var ahead: Neighbor?
    package var behind: Neighbor?
    /// Whether the reader took the lead over the partner.
    package var taken: Bool?
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
