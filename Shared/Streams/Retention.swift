import Bus
import ServiceKit
import Workouts

/// The times at which sessions' retained topics were last published. The topics are cleared 48 hours later by the
/// service's clock, those of a session that was over when it arrived after 10 minutes.
///
/// Contains only sessions with retained topics. A stored time is at most an hour old.
struct Retention {
    private static let interval = 60.0
    private static let precision = 3_600.0

    private struct Times {
        var published: Moment
        var stored: Moment?
        var isPast = false

        var expiresAt: Moment { published + (isPast ? RetainedTopic.pastLifetime : RetainedTopic.lifetime) }
    }

    /// Follows the time in the stored form of a session that was over when it arrived.
    private static let pastMark = "past"

    private var times: [SessionKey: Times] = [:]
    private var checkedAt: Moment?

    /// Whether topics of the session may be retained.
    func stands(_ key: SessionKey) -> Bool { times[key] != nil }

    /// The sessions of some shards whose topics may be retained.
    func keys(in shards: Set<Shard>) -> Set<SessionKey> {
        Set(times.keys.filter { shards.contains($0.session.shard) })
    }

    /// - Parameter isPast: whether the session was over when it arrived, and is completed now.
    mutating func published(_ key: SessionKey, _ now: Moment, isPast: Bool = false) {
        times[key, default: Times(published: now)].published = now
        if isPast { receivePast(key, now) }
    }

    /// Receives a state of a session that was over when it arrived: the 10 minutes begin.
    mutating func receivePast(_ key: SessionKey, _ now: Moment) {
        guard times[key]?.isPast == false else { return }
        times[key] = Times(published: now, isPast: true)
    }

    /// Loads a time from the store: Unix microseconds in decimal digits, and a mark. A later publication takes precedence.
    mutating func load(_ key: SessionKey, _ value: [UInt8], _ now: Moment) {
        let words = String(decoding: value, as: UTF8.self).split(separator: " ")
        guard let microseconds = words.first.flatMap({ Int64($0) }) else { return }
        // Stored before the wall clock stepped backwards, it is in the future. A damaged one may be out of range.
        let stored = now.when(Timestamp(seconds: Double(microseconds) / 1e6)).atMost(now)
        times[key] = Times(
            published: stored + Self.precision, stored: stored, isPast: words.dropFirst().first == Self.pastMark[...])
    }

    mutating func remove(_ key: SessionKey) {
        times[key] = nil
    }

    mutating func drop(_ shards: Set<Shard>) {
        for key in keys(in: shards) { times[key] = nil }
    }

    /// Whether a check is due.
    mutating func isDue(_ now: Moment) -> Bool {
        guard checkedAt.map({ now.seconds(since: $0) >= Self.interval }) ?? true else { return false }
        checkedAt = now
        return true
    }

    /// The sessions whose topics expire, and those whose time must be stored.
    func changes(_ now: Moment) -> (expired: [SessionKey], unsaved: [SessionKey]) {
        var expired: [SessionKey] = []
        var unsaved: [SessionKey] = []
        for (key, time) in times {
            if time.expiresAt <= now {
                expired.append(key)
            } else if time.stored.map({ time.published.seconds(since: $0) > Self.precision }) ?? true {
                unsaved.append(key)
            }
        }
        return (expired.sorted(), unsaved.sorted())
    }

    /// The stored form of a session's time.
    func value(_ key: SessionKey) -> [UInt8] {
        let time = times[key]
        let mark = time?.isPast == true ? " \(Self.pastMark)" : ""
        return Array("\(time?.published.wallClock.microseconds ?? 0)\(mark)".utf8)
    }

    mutating func stored(_ keys: [SessionKey]) {
        for key in keys {
            guard let published = times[key]?.published else { continue }
            times[key]?.stored = published
        }
    }
}
