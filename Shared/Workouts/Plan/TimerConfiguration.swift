/// The clock of a block.
package struct TimerConfiguration: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, CaseIterable, Sendable {
        /// Counts up. Completed sets advance the block.
        case stopwatch
        /// Counts down `work` seconds.
        case countdown
        /// `rounds` times `work` seconds with `rest` seconds between. The exercises take turns.
        case interval
        /// Every minute on the minute: `rounds` times `work` seconds, 60 by default. The exercises take turns.
        case emom
        /// As many rounds as possible of all its exercises in `cap` seconds.
        case amrap
        /// `rounds` of all exercises, one by default, as fast as possible and within the optional `cap`.
        case forTime
    }

    package var type: Kind
    /// Seconds.
    package var work: Double?
    /// Seconds.
    package var rest: Double?
    package var rounds: Int?
    /// Seconds.
    package var cap: Double?

    package init(_ type: Kind, work: Double? = nil, rest: Double? = nil, rounds: Int? = nil, cap: Double? = nil) {
        self.type = type
        self.work = work
        self.rest = rest
        self.rounds = rounds
        self.cap = cap
    }
}

extension TimerConfiguration {
    private enum Key: String, CodingKey {
        case type, work, rest, rounds, cap
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        type = try container.decode(Kind.self, forKey: .type)
        work = try container.number(Double.self, forKey: .work)
        rest = try container.number(Double.self, forKey: .rest)
        rounds = try container.wholeNumber(forKey: .rounds)
        cap = try container.number(Double.self, forKey: .cap)
    }

    /// The first field that is missing, out of range or meaningless for the type; `nil` if the timer is valid.
    package var validationError: String? {
        let fields: [(name: String, isGiven: Bool, isNeeded: Bool, isKnown: Bool)] = [
            ("work", work != nil, type == .countdown || type == .interval, type == .emom),
            ("rest", rest != nil, false, type == .interval),
            ("rounds", rounds != nil, type == .interval || type == .emom, type == .forTime),
            ("cap", cap != nil, type == .amrap, type == .forTime),
        ]
        for field in fields {
            if field.isNeeded, !field.isGiven { return "\(field.name): missing for \(type.rawValue)" }
            if field.isGiven, !field.isNeeded, !field.isKnown { return "\(field.name): not for \(type.rawValue)" }
        }
        if let work, !PlanLimits.seconds.contains(work) { return "work: 1 to 36000 s" }
        if let rest, !PlanLimits.rest.contains(rest) { return "rest: 0 to 3600 s" }
        if let rounds, !(1...PlanLimits.rounds).contains(rounds) { return "rounds: 1 to \(PlanLimits.rounds)" }
        if let cap, !PlanLimits.seconds.contains(cap) { return "cap: 1 to 36000 s" }
        return nil
    }

    /// Whether time alone chooses the exercise, without completed sets.
    package var isPaced: Bool { type == .interval || type == .emom }

    /// The planned number of rounds, if there is one.
    package var plannedRounds: Int? {
        switch type {
        case .stopwatch, .countdown: 1
        case .interval, .emom, .forTime: rounds ?? 1
        case .amrap: nil
        }
    }

    /// Microseconds until the block's time is over; `nil` if only its sets end it.
    var total: Int64? {
        switch type {
        case .stopwatch: nil
        case .countdown: Self.microseconds(work ?? 0)
        case .interval, .emom: Int64(rounds ?? 1) * cycle - restLength
        case .amrap, .forTime: cap.map(Self.microseconds)
        }
    }

    /// Microseconds of one round of an interval or emom block.
    var cycle: Int64 { workLength + restLength }
    var workLength: Int64 { Self.microseconds(work ?? 60) }
    private var restLength: Int64 { type == .interval ? Self.microseconds(rest ?? 0) : 0 }

    static func microseconds(_ seconds: Double) -> Int64 { Int64((seconds * 1e6).rounded()) }
}
