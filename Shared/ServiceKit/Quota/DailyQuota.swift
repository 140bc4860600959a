package import Storage
package import Workouts

/// What each account has used today of a quota, such as items or bytes. A day is one of UTC, by the service's clock.
///
/// The store has a record for each account and shard, written each time the use rose by a 4,096th of the quota. So a restart or
/// a hand-over gives no new quota: with all 256 shards it forgets a sixteenth at most. Replicas read each other's records.
package struct DailyQuota: Sendable {
    /// `user` → the day and the use, in decimal digits.
    package static let collection = StoreCollection("usage")
    /// How often replicas read each other's records, in seconds.
    private static let interval = 60.0
    /// A record with another use is damaged. Those of all shards together fit `Int`.
    private static let amounts = 0...1 << 53

    private struct Use {
        var amount = 0
        var stored = 0
    }

    package let limit: Int
    /// Days since 1970.
    private var day: Int64?
    private var uses: [Shard: [User: Use]] = [:]
    /// What other processes have stored.
    private var seen: [Shard: [User: Int]] = [:]
    /// The sums of ``uses`` and ``seen``.
    private var totals: [User: Int] = [:]
    /// When other processes' records were last due.
    private var sharedAt: Moment?
    private var unsaved: Set<StoreKey> = []
    /// Records of earlier days.
    private var outdated: Set<StoreKey> = []

    package init(limit: Int) {
        self.limit = limit
    }

    private var step: Int { max(1, limit / 4_096) }

    /// The highest use of an account.
    package var highest: Int { totals.values.max() ?? 0 }

    /// What an account may still use today.
    package mutating func available(to user: User, _ now: Moment) -> Int {
        turn(now)
        return max(0, limit - totals[user, default: 0])
    }

    /// The whole seconds until the next day.
    package static func secondsLeft(_ now: Moment) -> Int {
        Int((Double(day(now) + 1) * 86_400 - now.wallClock.seconds).rounded(.up))
    }

    /// - Parameter amount: negative for what was not used after all. Nothing changes if that was yesterday, or before the
    ///   shard was lost.
    package mutating func spend(_ amount: Int, of user: User, in shard: Shard, _ now: Moment) {
        guard amount != 0 else { return }
        turn(now)
        var use = uses[shard]?[user] ?? Use()
        let amount = max(amount, -use.amount)
        totals[user, default: 0] += amount
        use.amount += amount
        uses[shard, default: [:]][user] = use
        if abs(use.amount - use.stored) >= step { unsaved.insert(StoreKey(shard: shard, key: "\(user)")) }
    }

    /// Begins a new day, also after a step of the clock.
    private mutating func turn(_ now: Moment) {
        let today = Self.day(now)
        guard today != day else { return }
        for (shard, users) in uses {
            for (user, use) in users where use.stored > 0 { outdated.insert(StoreKey(shard: shard, key: "\(user)")) }
        }
        day = today
        (uses, seen, totals, unsaved) = ([:], [:], [:], [])
    }

    private static func day(_ now: Moment) -> Int64 { Int64((now.wallClock.seconds / 86_400).rounded(.down)) }

    // MARK: The store

    /// What to write: for the next commit, and again until ``stored(_:)`` follows.
    package var changes: [StoreKey: StoreWrite.Change] {
        var changes: [StoreKey: StoreWrite.Change] = [:]
        for key in outdated { changes[key] = .delete(key: key.key) }
        for key in unsaved {
            guard let user = User(key.key), let use = uses[key.shard]?[user] else { continue }
            changes[key] = .put(key: key.key, value: Array("\(day ?? 0) \(use.amount)".utf8))
        }
        return changes
    }

    package mutating func stored(_ changes: [StoreKey: StoreWrite.Change]) {
        for key in changes.keys {
            outdated.remove(key)
            guard unsaved.remove(key) != nil, let user = User(key.key) else { continue }
            if let amount = uses[key.shard]?[user]?.amount { uses[key.shard]?[user]?.stored = amount }
        }
    }

    /// Loads the records of gained shards.
    package mutating func load(_ records: [StoreRecord], _ now: Moment) {
        turn(now)
        forget(Set(records.map(\.shard)))
        for record in records {
            if let (user, amount) = use(record) {
                uses[record.shard, default: [:]][user] = Use(amount: amount, stored: amount)
                totals[user, default: 0] += amount
            } else {
                outdated.insert(StoreKey(shard: record.shard, key: record.key))
            }
        }
    }

    /// Whether ``see(_:_:)`` is due: once a minute.
    package mutating func isShareDue(_ now: Moment) -> Bool {
        guard sharedAt.map({ now.seconds(since: $0) >= Self.interval }) ?? true else { return false }
        sharedAt = now
        return true
    }

    /// Takes in the records of all shards of other processes, in place of the ones before.
    package mutating func see(_ records: [StoreRecord], _ now: Moment) {
        turn(now)
        forget(Set(seen.keys))
        for record in records where uses[record.shard] == nil {
            guard let (user, amount) = use(record) else { continue }
            seen[record.shard, default: [:]][user] = amount
            totals[user, default: 0] += amount
        }
    }

    /// No longer counts what other processes had stored in some shards.
    private mutating func forget(_ shards: Set<Shard>) {
        for shard in shards {
            for (user, amount) in seen.removeValue(forKey: shard) ?? [:] { totals[user, default: 0] -= amount }
        }
    }

    package mutating func drop(_ shards: Set<Shard>) {
        for shard in shards {
            for (user, use) in uses.removeValue(forKey: shard) ?? [:] { totals[user, default: 0] -= use.amount }
        }
        unsaved = unsaved.filter { !shards.contains($0.shard) }
        outdated = outdated.filter { !shards.contains($0.shard) }
    }

    /// What a record of today says; `nil` for another one.
    private func use(_ record: StoreRecord) -> (User, Int)? {
        let words = String(decoding: record.value, as: UTF8.self).split(separator: " ")
        guard words.count == 2, Int64(words[0]) == day, let amount = Int(words[1]), let user = User(record.key),
            Self.amounts.contains(amount)
        else { return nil }
        return (user, amount)
    }
}

extension DailyQuota {
    /// What an account may use in a day, from its setting.
    ///
    /// - Throws: `SettingError` for what is no number, or below `minimum`.
    package static func limit(
        _ setting: Setting, _ flag: String?, environment: [String: String], minimum: Int
    ) throws(SettingError) -> Int {
        let text = SettingValues(environment: environment).text(setting, flag) ?? setting.standard
        guard let limit = Int(text), limit >= minimum else { throw SettingError(setting, refusing: text) }
        return limit
    }
}
