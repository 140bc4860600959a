import Bus
import MQTT
import ServiceKit
import Workouts

/// The rights of the accounts in use. A probe connects with the account's password and reads its rights, which the broker's
/// plugin publishes. Without that topic it takes the users whose retained `current` the broker delivers.
///
/// A probe repeats at once after a change at the broker, and every 5 minutes while a login of the account is in use; the
/// first use after a pause or a change waits for one. Without the plugin's topic a user who is missing from an answer stays
/// visible until a second answer, 60 s later, lacks them too and session-engine is online at both: a broker that has just
/// restarted has no retained messages.
struct RightsProbes {
    /// An account with one of its passwords: a person's, or a device's.
    struct Credential: Hashable, Sendable {
        let account: AccountName
        let password: Secret
    }

    fileprivate struct Entry {
        var rights: AccountRights
        /// The logins that used this password.
        var logins: Set<LoginID> = []
        /// When an answer first lacked a user.
        var missing: [User: Moment] = [:]
        var used: Moment
        var next: Moment
        var confirmed: Moment
        var isProbing = false
        /// The broker changed the account since the last probe began.
        var isOutdated = false
    }

    static let interval = 300.0
    static let repetition = 60.0
    /// The time until the next probe when the broker did not answer.
    static let retry = 30.0
    /// Seconds after its last use for which a login counts as in use, and after an answer for which it needs no other.
    static let useTime = 360.0
    /// Seconds for which logins stay valid without an answer.
    static let trust = 3_600.0
    static let concurrency = 4

    private var entries: [Credential: Entry] = [:]
    /// The changes of each account that the broker published.
    private var changes: [AccountName: Int] = [:]
    private var running = 0
    /// Passwords count as confirmed when the service starts: a restart while the broker is away ends no login.
    private let started: Moment

    init(_ started: Moment) {
        self.started = started
    }

    /// The broker accepted a new login and answered its first probe.
    mutating func begin(_ credential: Credential, of login: LoginID, _ rights: AccountRights, _ now: Moment) {
        use(credential, of: login, rights, now)
        if rights.isViewer != nil { entries[credential]?.rights = rights }
        entries[credential]?.confirmed = now
        entries[credential]?.next = now + Self.interval
    }

    /// A request or an open stream uses a login.
    ///
    /// - Parameter rights: those in the login's record.
    mutating func use(_ credential: Credential, of login: LoginID, _ rights: AccountRights, _ now: Moment) {
        var entry = entries[credential] ?? Entry(rights: rights, used: now, next: now, confirmed: started)
        entry.rights.seen.formUnion(rights.seen)
        entry.logins.insert(login)
        entry.used = now
        entries[credential] = entry
    }

    /// Whether a request waits for a probe: the last answer is older than those of an account in use, or than a change.
    mutating func takeStale(_ credential: Credential, _ now: Moment) -> Bool {
        guard let entry = entries[credential], entry.next <= now else { return false }
        // Only the first request after a change waits.
        entries[credential]?.isOutdated = false
        return entry.isOutdated || now.seconds(since: entry.confirmed) >= Self.useTime
    }

    /// Whether the broker confirmed the password within the last hour.
    func isTrusted(_ credential: Credential, _ now: Moment) -> Bool {
        entries[credential].map { now.seconds(since: $0.confirmed) < Self.trust } ?? false
    }

    /// The probes to run now; each ends with ``answered(_:_:isEngineOnline:_:)``, ``outdated(_:_:)``, ``unanswered(_:_:)`` or
    /// ``refused(_:)``.
    mutating func take(_ now: Moment) -> [Credential] {
        entries = entries.filter { $0.value.isProbing || now.seconds(since: $0.value.used) < Self.trust }
        let inUse = entries.filter { now.seconds(since: $0.value.used) < Self.useTime }
        let due = inUse.filter { !$0.value.isProbing && $0.value.next <= now }
            .sorted { $0.value.next < $1.value.next }.prefix(max(0, Self.concurrency - running))
        for (credential, _) in due {
            entries[credential]?.isProbing = true
            entries[credential]?.isOutdated = false
        }
        running += due.count
        return due.map(\.key)
    }

    /// How often the broker changed an account. If it did since the broker was asked, the answer may be older.
    func changes(of account: AccountName) -> Int { changes[account] ?? 0 }

    /// The broker changed these accounts: their probes are due.
    mutating func changed(_ accounts: Set<AccountName>, _ now: Moment) {
        for account in accounts { changes[account, default: 0] += 1 }
        for credential in entries.keys where accounts.contains(credential.account) {
            entries[credential]?.isOutdated = true
            entries[credential]?.next = now
        }
    }

    /// The answer may be older than a change: the next probe is due, and the next request waits for it.
    mutating func outdated(_ credential: Credential, _ now: Moment) {
        guard var entry = finish(credential) else { return }
        entry.isOutdated = true
        entry.next = now
        entries[credential] = entry
    }

    /// Returns the account's rights; `nil` if its logins ended meanwhile.
    mutating func answered(
        _ credential: Credential, _ answer: AccountRights, isEngineOnline: Bool, _ now: Moment
    ) -> AccountRights? {
        guard var entry = finish(credential) else { return nil }
        defer { entries[credential] = entry }
        entry.confirmed = now
        if answer.isViewer == nil {
            entry.take(answer.seen, isEngineOnline: isEngineOnline, besides: credential.account.user, now)
        } else {
            entry.rights = answer
            entry.missing = [:]
        }
        entry.next = entry.isOutdated ? now : now + (entry.missing.isEmpty ? Self.interval : Self.repetition)
        return entry.rights
    }

    mutating func unanswered(_ credential: Credential, _ now: Moment) {
        guard var entry = finish(credential) else { return }
        entry.next = now + Self.retry
        entries[credential] = entry
    }

    /// The broker refused the password. Returns the logins that used it.
    mutating func refused(_ credential: Credential) -> Set<LoginID> {
        defer { entries[credential] = nil }
        return finish(credential)?.logins ?? []
    }

    /// A login ended. The last one takes its password along.
    mutating func end(_ login: LoginID) {
        for (credential, entry) in entries where entry.logins.contains(login) {
            entries[credential]?.logins.remove(login)
            guard entry.logins.count == 1 else { continue }
            if entry.isProbing { running -= 1 }
            entries[credential] = nil
        }
    }

    /// `nil` if the entry was removed meanwhile.
    private mutating func finish(_ credential: Credential) -> Entry? {
        guard var entry = entries[credential] else { return nil }
        if entry.isProbing { running -= 1 }
        entry.isProbing = false
        return entry
    }
}

extension RightsProbes.Entry {
    /// Takes the users whose `current` arrived.
    fileprivate mutating func take(_ answer: Set<User>, isEngineOnline: Bool, besides own: User?, _ now: Moment) {
        rights.seen.formUnion(answer)
        let absent = isEngineOnline ? rights.seen.subtracting(answer) : []
        missing = missing.filter { absent.contains($0.key) }
        for user in absent where user != own {
            let since = missing[user] ?? now
            missing[user] = since
            guard now.seconds(since: since) >= RightsProbes.repetition else { continue }
            rights.seen.remove(user)
            missing[user] = nil
        }
    }
}
