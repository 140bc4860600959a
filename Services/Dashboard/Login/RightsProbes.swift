import Bus
import MQTT
import ServiceKit
import Workouts

/// Whom the accounts in use may see. The broker answers: a probe subscribes to every user's `current` with the account's
/// password and takes the users whose retained message arrives.
///
/// A probe repeats every 5 minutes while a login of the account is in use. A user who is missing from an answer stays
/// visible until a second answer, 60 s later, lacks them too and session-engine is online at both: a broker that has just
/// restarted has no retained messages.
struct RightsProbes {
    /// An account with one of its passwords: a person's, or a device's.
    struct Credential: Hashable, Sendable {
        let account: AccountName
        let password: Secret
    }

    private struct Entry {
        var seen: Set<User>
        /// When an answer first lacked a user.
        var missing: [User: Moment] = [:]
        var used: Moment
        var next: Moment
        var confirmed: Moment
        var isProbing = false
    }

    static let interval = 300.0
    static let repetition = 60.0
    /// The time until the next probe when the broker did not answer.
    static let retry = 30.0
    /// Seconds after its last use for which a login counts as in use.
    static let useTime = 360.0
    /// Seconds for which logins stay valid without an answer.
    static let trust = 3_600.0
    static let concurrency = 4

    private var entries: [Credential: Entry] = [:]
    private var running = 0

    /// The broker accepted a login and answered its first probe.
    mutating func begin(_ credential: Credential, seen: Set<User>, _ now: Moment) {
        entries[credential] = Entry(seen: seen, used: now, next: now + Self.interval, confirmed: now)
    }

    /// A request or an open stream uses a login. The first use after a start probes at once.
    mutating func use(_ credential: Credential, seen: Set<User>, _ now: Moment) {
        if entries[credential] == nil {
            entries[credential] = Entry(seen: seen, used: now, next: now, confirmed: now)
        }
        entries[credential]?.used = now
    }

    /// Whether the broker confirmed the password within the last hour.
    func isTrusted(_ credential: Credential, _ now: Moment) -> Bool {
        entries[credential].map { now.seconds(since: $0.confirmed) < Self.trust } ?? false
    }

    /// The probes to run now; each ends with ``answered(_:_:isEngineOnline:_:)``, ``unanswered(_:_:)`` or ``remove(_:)``.
    mutating func take(_ now: Moment) -> [Credential] {
        entries = entries.filter { $0.value.isProbing || now.seconds(since: $0.value.used) < Self.useTime }
        var due = entries.filter { !$0.value.isProbing && $0.value.next <= now }.sorted {
            $0.value.next < $1.value.next
        }
        due = Array(due.prefix(Self.concurrency - running))
        for (credential, _) in due { entries[credential]?.isProbing = true }
        running += due.count
        return due.map(\.key)
    }

    /// Returns whom the account may see, if that changed.
    mutating func answered(
        _ credential: Credential, _ answer: Set<User>, isEngineOnline: Bool, _ now: Moment
    ) -> Set<User>? {
        guard var entry = finish(credential) else { return nil }
        let before = entry.seen
        entry.confirmed = now
        entry.seen.formUnion(answer)
        let missing = isEngineOnline ? entry.seen.subtracting(answer) : []
        entry.missing = entry.missing.filter { missing.contains($0.key) }
        for user in missing where user != credential.account.user {
            let since = entry.missing[user] ?? now
            entry.missing[user] = since
            guard now.seconds(since: since) >= Self.repetition else { continue }
            entry.seen.remove(user)
            entry.missing[user] = nil
        }
        entry.next = now + (entry.missing.isEmpty ? Self.interval : Self.repetition)
        entries[credential] = entry
        return entry.seen == before ? nil : entry.seen
    }

    mutating func unanswered(_ credential: Credential, _ now: Moment) {
        guard var entry = finish(credential) else { return }
        entry.next = now + Self.retry
        entries[credential] = entry
    }

    /// The broker refused the password, or the account's logins ended.
    mutating func remove(_ account: AccountName) {
        for (credential, entry) in entries where credential.account == account {
            if entry.isProbing { running -= 1 }
            entries[credential] = nil
        }
    }

    /// `nil` if the entry was removed meanwhile.
    private mutating func finish(_ credential: Credential) -> Entry? {
        guard var entry = entries[credential], entry.isProbing else { return nil }
        running -= 1
        entry.isProbing = false
        return entry
    }
}
