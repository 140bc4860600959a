import Bus
import ServiceKit
import Workouts

/// All logins and the browsers that logged in before, in memory as in the store.
///
/// A login ends 30 days after it began or after 7 days without use, an operator's after 12 hours. An account has at most
/// 20 logins and 20 known browsers; a new one replaces the one that was used the longest ago.
struct LoginSessions {
    struct Record: Codable, Equatable, Sendable {
        var account: AccountName
        /// See ``LoginToken/seal(_:for:)``.
        var sealed: [UInt8]
        var begun: Moment
        var used: Moment
        var seen: Set<User>
        /// `nil` if the broker does not publish it.
        var isViewer: Bool?

        var rights: AccountRights {
            get { AccountRights(seen: seen, isViewer: isViewer) }
            set { (seen, isViewer) = (newValue.seen, newValue.isViewer) }
        }
    }

    /// A browser's record: the SHA-256 of a token of its own, which it keeps after a logout.
    struct Browser: Codable, Equatable, Sendable {
        var account: AccountName
        var used: Moment
    }

    struct Changes: Equatable {
        var writes: [RecordChange] = []
        /// Their streams close: they ended, or their rights changed.
        var ended: Set<LoginID> = []
        /// Accounts without a login. Their connections close.
        var gone: Set<AccountName> = []

        static func += (left: inout Changes, right: Changes) {
            left.writes += right.writes
            left.ended.formUnion(right.ended)
            left.gone.formUnion(right.gone)
        }
    }

    static let day = 86_400.0
    static let longest = 30 * day
    static let longestUnused = 7 * day
    static let longestOfOperators = day / 2
    static let browserUnused = 365 * day
    static let limit = 20
    /// Seconds between two writes of a login's last use.
    static let useInterval = 3_600.0

    private(set) var records: [LoginID: Record] = [:]
    private(set) var browsers: [LoginID: Browser] = [:]
    private var logins: [AccountName: Set<LoginID>] = [:]
    private var browsersOf: [AccountName: Set<LoginID>] = [:]

    // MARK: Loading

    /// Takes a stored record. If the wall clock stepped backwards since, it counts as used now.
    mutating func load(_ id: LoginID, _ stored: Record, _ now: Moment) {
        var record = stored
        record.begun = record.begun.atMost(now)
        record.used = record.used.atMost(now)
        records[id] = record
        logins[record.account, default: []].insert(id)
    }

    mutating func load(_ id: LoginID, _ stored: Browser, _ now: Moment) {
        var browser = stored
        browser.used = browser.used.atMost(now)
        browsers[id] = browser
        browsersOf[browser.account, default: []].insert(id)
    }

    // MARK: Logins

    mutating func begin(
        _ id: LoginID, _ account: AccountName, sealed: [UInt8], _ rights: AccountRights, _ now: Moment
    ) -> Changes {
        var changes = Changes()
        let others = logins[account] ?? []
        if others.count >= Self.limit, let oldest = others.min(by: { used($0, now) < used($1, now) }) {
            changes += end(oldest)
        }
        let record = Record(
            account: account, sealed: sealed, begun: now, used: now, seen: rights.seen, isViewer: rights.isViewer)
        records[id] = record
        logins[account, default: []].insert(id)
        changes.writes.append(.put(.logins, "\(id)", record))
        return changes
    }

    private func used(_ id: LoginID, _ now: Moment) -> Moment { records[id]?.used ?? now }

    /// The login of a token, if it is still valid.
    mutating func use(_ id: LoginID, _ now: Moment) -> (record: Record?, changes: Changes) {
        guard var record = records[id] else { return (nil, Changes()) }
        guard !Self.isOver(record, now) else { return (nil, end(id)) }
        guard now.seconds(since: record.used) >= Self.useInterval else { return (record, Changes()) }
        record.used = now
        records[id] = record
        return (record, Changes(writes: [.put(.logins, "\(id)", record)]))
    }

    /// Ends one login.
    mutating func end(_ id: LoginID) -> Changes {
        guard let record = records.removeValue(forKey: id) else { return Changes() }
        logins[record.account]?.remove(id)
        let isLast = logins[record.account]?.isEmpty ?? true
        if isLast { logins[record.account] = nil }
        return Changes(writes: [.delete(.logins, "\(id)")], ended: [id], gone: isLast ? [record.account] : [])
    }

    /// Ends all logins of an account.
    mutating func endAll(of account: AccountName) -> Changes {
        (logins[account] ?? []).sorted().reduce(into: Changes()) { $0 += end($1) }
    }

    func logins(of account: AccountName) -> Set<LoginID> { logins[account] ?? [] }

    /// Ends what is over, and removes browsers that were not used for a year.
    mutating func expire(_ now: Moment) -> Changes {
        var changes = Changes()
        for (id, record) in records where Self.isOver(record, now) { changes += end(id) }
        for (id, browser) in browsers where now.seconds(since: browser.used) >= Self.browserUnused {
            changes.writes.append(forget(id, browser))
        }
        return changes
    }

    private static func isOver(_ record: Record, _ now: Moment) -> Bool {
        let age = now.seconds(since: record.begun)
        if record.account == .operators { return age >= longestOfOperators }
        return age >= longest || now.seconds(since: record.used) >= longestUnused
    }

    /// Stores the rights of an account. If they changed, its streams have to open again: they count as ended.
    mutating func set(_ rights: AccountRights, of account: AccountName) -> Changes {
        var changes = Changes()
        for id in (logins[account] ?? []).sorted() {
            guard var record = records[id], record.rights != rights else { continue }
            record.rights = rights
            records[id] = record
            changes.writes.append(.put(.logins, "\(id)", record))
            changes.ended.insert(id)
        }
        return changes
    }

    // MARK: Browsers

    func knows(_ browser: LoginID, for account: AccountName) -> Bool { browsers[browser]?.account == account }

    /// Remembers that a browser logged in.
    mutating func remember(_ id: LoginID, for account: AccountName, _ now: Moment) -> [RecordChange] {
        var writes: [RecordChange] = []
        if let former = browsers[id] { writes.append(forget(id, former)) }
        let others = browsersOf[account] ?? []
        if others.count >= Self.limit,
            let oldest = others.min(by: { (browsers[$0]?.used ?? now) < (browsers[$1]?.used ?? now) }),
            let browser = browsers[oldest]
        {
            writes.append(forget(oldest, browser))
        }
        let browser = Browser(account: account, used: now)
        browsers[id] = browser
        browsersOf[account, default: []].insert(id)
        return writes + [.put(.browsers, "\(id)", browser)]
    }

    private mutating func forget(_ id: LoginID, _ browser: Browser) -> RecordChange {
        browsers[id] = nil
        browsersOf[browser.account]?.remove(id)
        if browsersOf[browser.account]?.isEmpty == true { browsersOf[browser.account] = nil }
        return .delete(.browsers, "\(id)")
    }
}
