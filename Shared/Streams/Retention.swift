import Workouts

/// When the retained topics of a session were published last: 48 hours later, by the service's clock, they are cleared.
///
/// It has only sessions whose topics are still retained. A stored time is at most an hour behind.
struct Retention {
    static let lifetime = 48 * 3_600.0
    private static let interval = 60.0
    private static let precision = 3_600.0

    private var times: [SessionKey: (published: Timestamp, stored: Timestamp?)] = [:]
    private var checkedAt: Timestamp?

    /// Whether topics of the session may be retained.
    func stands(_ key: SessionKey) -> Bool { times[key] != nil }

    /// The sessions of some shards whose topics may be retained.
    func keys(in shards: Set<Shard>) -> Set<SessionKey> {
        Set(times.keys.filter { shards.contains($0.session.shard) })
    }

    mutating func published(_ key: SessionKey, _ now: Timestamp) {
        times[key, default: (now, nil)].published = now
    }

    /// Takes over a time from the store: Unix microseconds in decimal digits. It may have been published again since.
    mutating func load(_ key: SessionKey, _ value: [UInt8]) {
        guard let microseconds = Int64(String(decoding: value, as: UTF8.self)) else { return }
        let stored = Timestamp(microseconds: microseconds)
        times[key] = (stored + Self.precision, stored)
    }

    mutating func remove(_ key: SessionKey) {
        times[key] = nil
    }

    mutating func drop(_ shards: Set<Shard>) {
        for key in keys(in: shards) { times[key] = nil }
    }

    /// Whether it is time to look.
    mutating func isDue(_ now: Timestamp) -> Bool {
        guard checkedAt.map({ now.seconds(since: $0) >= Self.interval || now < $0 }) ?? true else { return false }
        checkedAt = now
        return true
    }

    /// The sessions whose topics have stood long enough, and those whose time is to be written.
    func changes(_ now: Timestamp) -> (expired: [SessionKey], unsaved: [SessionKey]) {
        var expired: [SessionKey] = []
        var unsaved: [SessionKey] = []
        for (key, time) in times {
            if now.seconds(since: time.published) >= Self.lifetime {
                expired.append(key)
            } else if time.stored.map({ time.published.seconds(since: $0) > Self.precision }) ?? true {
                unsaved.append(key)
            }
        }
        return (expired.sorted(), unsaved.sorted())
    }

    /// The time to write for a session.
    func value(_ key: SessionKey) -> [UInt8] { Array("\(times[key]?.published.microseconds ?? 0)".utf8) }

    mutating func stored(_ keys: [SessionKey]) {
        for key in keys {
            guard let published = times[key]?.published else { continue }
            times[key]?.stored = published
        }
    }
}
