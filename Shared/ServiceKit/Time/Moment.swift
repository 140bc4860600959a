package import Bus
package import Workouts

/// One reading of both clocks of a process: the wall clock and the uptime.
///
/// The wall clock is shared with people and other processes, and it can step. The uptime only moves forwards. Deadlines and
/// intervals are moments, and moments are ordered by uptime alone, so a wall clock that steps moves no deadline. What is
/// published or stored is the wall clock. Event times are ``Timestamp``s and cannot be compared with a moment.
package struct Moment: Sendable {
    package let wallClock: Timestamp
    /// In microseconds since an arbitrary start.
    private let ticks: Int64

    private init(wallClock: Timestamp, ticks: Int64) {
        self.wallClock = wallClock
        self.ticks = ticks
    }

    /// - Parameter uptime: the time since an arbitrary start, the same for all moments of a process.
    package init(wallClock: Timestamp, uptime: Duration) {
        self.init(wallClock: wallClock, ticks: Self.ticks(uptime))
    }

    package var uptime: Duration { .microseconds(ticks) }

    private static func ticks(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// Seconds from `other` to this moment, negative if `other` is later.
    package func seconds(since other: Moment) -> Double { Double(ticks - other.ticks) / 1e6 }

    package static func + (moment: Moment, seconds: Double) -> Moment {
        moment.advanced(byTicks: Int64((seconds * 1e6).rounded()))
    }

    package static func - (moment: Moment, seconds: Double) -> Moment { moment + -seconds }

    private func advanced(byTicks ticks: Int64) -> Moment {
        Moment(wallClock: Timestamp(microseconds: wallClock.microseconds + ticks), ticks: self.ticks + ticks)
    }

    /// The moment at which the wall clock shows a time, unless it steps before.
    package func when(_ time: Timestamp) -> Moment { advanced(byTicks: time.microseconds - wallClock.microseconds) }

    /// The same time of the wall clock, but at the latest a moment by uptime: for a stored moment that is in the future because
    /// the wall clock stepped backwards.
    package func atMost(_ limit: Moment) -> Moment {
        Moment(wallClock: wallClock, ticks: min(ticks, limit.ticks))
    }

    /// Whether the wall clock stepped by more than a second since an earlier moment.
    package func hasStepped(since other: Moment) -> Bool {
        abs(wallClock.seconds(since: other.wallClock) - seconds(since: other)) > 1
    }
}

extension Moment: Hashable, InstantProtocol {
    package static func == (left: Moment, right: Moment) -> Bool { left.ticks == right.ticks }

    package static func < (left: Moment, right: Moment) -> Bool { left.ticks < right.ticks }

    package func hash(into hasher: inout Hasher) { hasher.combine(ticks) }

    package func advanced(by duration: Duration) -> Moment { advanced(byTicks: Self.ticks(duration)) }

    package func duration(to other: Moment) -> Duration { .microseconds(other.ticks - ticks) }
}

/// Stored as wall-clock time. Decoding needs the present moment: see ``JSONCoding/decode(_:from:now:)``.
extension Moment: Codable {
    private static let now = CodingUserInfoKey(rawValue: "now")!

    package init(from decoder: any Decoder) throws {
        guard let now = decoder.userInfo[Self.now] as? Moment else {
            preconditionFailure("a record with moments is decoded with JSONCoding.decode(_:from:now:)")
        }
        self = now.when(try Timestamp(from: decoder))
    }

    package func encode(to encoder: any Encoder) throws {
        try wallClock.encode(to: encoder)
    }

    fileprivate static func userInfo(_ now: Moment) -> [CodingUserInfoKey: any Sendable] { [Self.now: now] }
}

extension JSONCoding {
    /// Decodes a stored record with moments.
    ///
    /// If the wall clock stepped backwards since they were stored, they are in the future. The machine that loads a record
    /// limits them with ``Moment/atMost(_:)``: past moments to now, deadlines to their interval ahead of it.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from record: some Sequence<UInt8>, now: Moment
    ) throws(PayloadError) -> Value {
        try decode(type, from: record, userInfo: Moment.userInfo(now))
    }
}
