import Bus
import ServiceKit
import Workouts

/// The times at which sessions' retained topics were last published. The topics are cleared 48 hours later by the
/// service's clock.
///
/// Contains only sessions with retained topics. A stored time is at most an hour old.
struct Retention {
    private static let interval = 60.0
    private static let precision = 3_600.0

    private var times: [SessionKey: (published: Moment, stored: Moment?)] = [:]
    private var checkedAt: Moment?

    /// Whether topics of the session may be retained.
    func stands(_ key: SessionKey) -> Bool { times[key] != nil }

    /// The sessions of some shards whose topics may be retained.
    func keys(in shards: Set<Shard>) -> Set<SessionKey> {
        Set(times.keys.filter { shards.contains($0.session.shard) })
    }

    mutating func published(_ key: SessionKey, _ now: Moment) {
        times[key, default: (now, nil)].published = now
    }

    /// Loads a time from the store: Unix microseconds in decimal digits. A later publication takes precedence.
    mutating func load(_ key: SessionKey, _ value: [UInt8], _ now: Moment) {
        guard let microseconds = Int64(String(decoding: value, as: UTF8.self)) else { return }
        // Stored before the wall clock stepped backwards, it is in the future.
        let stored = now.when(Timestamp(microseconds: microseconds)).atMost(now)
        times[key] = (stored + Self.precision, stored)
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
            if now.seconds(since: time.published) >= RetainedTopic.lifetime {
                expired.append(key)
            } else if time.stored.map({ time.published.seconds(since: $0) > Self.precision }) ?? true {
                unsaved.append(key)
            }
        }
        return (expired.sorted(), unsaved.sorted())
    }

    /// The stored form of a session's time.
    func value(_ key: SessionKey) -> [UInt8] { Array("\(times[key]?.published.wallClock.microseconds ?? 0)".utf8) }

    mutating func stored(_ keys: [SessionKey]) {
        for key in keys {
            guard let published = times[key]?.published else { continue }
            times[key]?.stored = published
        }
    }
}
