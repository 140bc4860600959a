/// What a virtual run is run for; a run without a goal compares distances.
package enum RunGoal: Hashable, Sendable {
    /// Metres.
    case distance(Double)
    /// Seconds.
    case duration(Double)

    package static let distances = 100.0...500_000
    package static let durations = 60.0...86_400
}

/// The clock of a virtual run.
package enum RunClock: String, Codable, CaseIterable, Sendable {
    /// Each runner's active seconds.
    case active
    /// Seconds since the common start, pauses included.
    case gun
}

/// How the runners of a virtual run begin.
package enum RunStart: String, Codable, Sendable {
    /// All runners begin at the same time.
    case together
    /// Each runner begins at any time until the run ends.
    case rolling
}

/// What the host decides about a virtual run when it is created.
package struct RunSettings: Hashable, Sendable {
    package static let countdowns = 3.0...60
    /// Bytes of a name.
    package static let nameLimit = 200
    /// The farthest that ``scheduledAt`` and ``endsAt`` lie ahead, in seconds.
    package static let horizon = 7 * 86_400.0
    /// Runners of a run: participants and ghosts.
    package static let runners = 2...50
    package static let ghostLimit = 8

    package var name: String?
    package var goal: RunGoal?
    package var start = RunStart.together
    package var clock = RunClock.active
    /// Seconds from the start of the countdown until the run begins.
    package var countdown = 3.0
    /// Whether people may confirm after the start.
    package var lateJoin = true
    /// When a run of ``RunStart/together`` begins at the earliest.
    package var scheduledAt: Timestamp?
    /// When a run of ``RunStart/rolling`` ends.
    package var endsAt: Timestamp?

    package init() {}
}

/// Seconds between two messages of a runner's device, and between two `partners` for it: its radio uses the most energy.
///
/// - Parameter battery: 0…1; `nil` if unknown.
package func runInterval(battery: Double?) -> Double { battery ?? 1 < 0.2 ? 5 : 2 }

extension RunGoal: Codable {
    private enum Key: String, CodingKey {
        case distance, duration
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let distance = try container.number(Double.self, forKey: .distance)
        let duration = try container.number(Double.self, forKey: .duration)
        switch (distance, duration) {
        case (let meters?, nil) where Self.distances.contains(meters): self = .distance(meters)
        case (_?, nil):
            throw DecodingError.dataCorruptedError(
                forKey: .distance, in: container, debugDescription: "100 to 500,000 m")
        case (nil, let seconds?) where Self.durations.contains(seconds): self = .duration(seconds)
        case (nil, _?):
            throw DecodingError.dataCorruptedError(
                forKey: .duration, in: container, debugDescription: "60 to 86,400 s")
        default:
            throw DecodingError.dataCorrupted(
                .init(codingPath: container.codingPath, debugDescription: "either distance or duration"))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        switch self {
        case .distance(let meters): try container.encode(meters, forKey: .distance)
        case .duration(let seconds): try container.encode(seconds, forKey: .duration)
        }
    }
}

extension RunSettings: Codable {
    private enum Key: String, CodingKey {
        case name, goal, start, clock, countdown, lateJoin, scheduledAt, endsAt
    }

    /// Absent fields have their defaults. The times are compared with a clock elsewhere.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func invalid(_ key: Key, _ text: String) -> DecodingError {
            .dataCorruptedError(forKey: key, in: container, debugDescription: text)
        }
        name = try container.decodeIfPresent(String.self, forKey: .name)
        if let name, !(1...Self.nameLimit).contains(name.utf8.count) || name.hasControlCharacters {
            throw invalid(.name, "1 to 200 bytes without control characters")
        }
        goal = try container.number(RunGoal.self, forKey: .goal)
        start = try container.decodeIfPresent(RunStart.self, forKey: .start) ?? .together
        clock = try container.decodeIfPresent(RunClock.self, forKey: .clock) ?? .active
        countdown = try container.number(Double.self, forKey: .countdown) ?? 3
        guard Self.countdowns.contains(countdown) else { throw invalid(.countdown, "3 to 60 s") }
        lateJoin = try container.decodeIfPresent(Bool.self, forKey: .lateJoin) ?? true
        scheduledAt = try container.number(Timestamp.self, forKey: .scheduledAt)
        if scheduledAt != nil, start == .rolling { throw invalid(.scheduledAt, "only for runs that start together") }
        endsAt = try container.number(Timestamp.self, forKey: .endsAt)
        if endsAt != nil, start == .together { throw invalid(.endsAt, "only for rolling runs") }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(name, forKey: .name)
        try container.encodeIfPresent(goal, forKey: .goal)
        try container.encode(start, forKey: .start)
        try container.encode(clock, forKey: .clock)
        try container.encode(countdown, forKey: .countdown)
        try container.encode(lateJoin, forKey: .lateJoin)
        try container.encodeIfPresent(scheduledAt, forKey: .scheduledAt)
        try container.encodeIfPresent(endsAt, forKey: .endsAt)
    }
}
