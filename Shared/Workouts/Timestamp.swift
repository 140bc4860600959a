/// A moment in Unix time with microsecond precision.
///
/// Integers keep sums and comparisons exact, so results do not depend on the order of arrival. On the bus a time is a
/// JSON number of Unix seconds; fractions are allowed.
package struct Timestamp: Hashable, Comparable, Sendable {
    /// Microseconds since 1970-01-01T00:00:00Z.
    package var microseconds: Int64

    /// The microseconds of times from outside: the difference of any two fits `Int64`.
    package static var accepted: ClosedRange<Int64> { -4_000_000_000_000_000_000...4_000_000_000_000_000_000 }

    package init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// The microsecond nearest to `seconds`, clamped to ``accepted``.
    package init(seconds: Double) {
        let limit = 4e12
        let clamped = seconds.isNaN ? 0 : min(max(seconds, -limit), limit)
        microseconds = Int64((clamped * 1e6).rounded())
    }

    /// Unix seconds.
    package var seconds: Double { Double(microseconds) / 1e6 }

    /// Whole Unix milliseconds, the scale of revisions.
    package var milliseconds: Int64 { microseconds / 1000 }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }

    /// Seconds from `other` to this moment; negative if `other` is later.
    package func seconds(since other: Timestamp) -> Double {
        Double(microseconds - other.microseconds) / 1e6
    }

    package static func + (time: Timestamp, seconds: Double) -> Timestamp {
        Timestamp(microseconds: time.microseconds + Int64((seconds * 1e6).rounded()))
    }

    package static func - (time: Timestamp, seconds: Double) -> Timestamp {
        time + -seconds
    }
}

extension Timestamp: InstantProtocol {
    package func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        return Timestamp(microseconds: microseconds + seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }

    package func duration(to other: Timestamp) -> Duration {
        .microseconds(other.microseconds - microseconds)
    }
}

extension Timestamp: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(seconds: try decoder.singleValueContainer().decode(Double.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(seconds)
    }
}

/// The times that services accept in payloads: from 2000 to one day ahead of the service's clock.
package struct AcceptedTimes: Sendable {
    package let range: ClosedRange<Timestamp>

    package init(now: Timestamp) {
        let year2000 = Timestamp(microseconds: 946_684_800_000_000)
        range = year2000...max(year2000, now + 86_400)
    }

    package func contains(_ time: Timestamp) -> Bool { range.contains(time) }
}
