import Bus
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import Workouts

/// Logs people in and out, and keeps what they may see up to date.
final class LoginService: Sendable {
    enum Answer: Equatable, Sendable {
        case accepted(LoginToken, browser: LoginToken)
        /// The name, the password, or both.
        case wrong
        case tooMany(retryAfter: Double)
        /// The broker does not answer.
        case brokerAway
        /// The disk refuses the login.
        case notStored
    }

    struct State {
        var attempts = LoginAttempts()
        var sessions = LoginSessions()
        var probes: RightsProbes
        /// The probes that requests wait for, begun after the last change of their account.
        var awaited: [RightsProbes.Credential: Task<Void, Never>] = [:]
        var isLoaded = false
        var refused = 0
    }

    /// A failure takes at least as long, so that its time says nothing.
    private static let failureTime = 0.3
    private static let concurrentChecks = 4
    private static let longestPassword = 256

    let clock: any WallClock
    private let logger: Logger
    private let records: RecordStore
    let ask: @Sendable (RightsProbes.Credential) async -> BrokerAccounts.Answer
    let isEngineOnline: @Sendable () -> Bool
    private let onEnd: @Sendable (LoginSessions.Changes) -> Void
    private let slots = CheckSlots(concurrentChecks)
    /// A probe is one round trip to the broker, so many may run.
    let probeSlots = CheckSlots(32)
    let state: Mutex<State>

    /// - Parameters:
    ///   - ask: see ``BrokerAccounts/ask(_:)``.
    ///   - onEnd: receives logins whose streams close, and accounts whose connections close.
    init(
        clock: any WallClock, logger: Logger, records: RecordStore,
        ask: @escaping @Sendable (RightsProbes.Credential) async -> BrokerAccounts.Answer,
        isEngineOnline: @escaping @Sendable () -> Bool, onEnd: @escaping @Sendable (LoginSessions.Changes) -> Void
    ) {
        self.clock = clock
        self.logger = logger
        self.records = records
        self.ask = ask
        self.isEngineOnline = isEngineOnline
        self.onEnd = onEnd
        state = Mutex(State(probes: RightsProbes(clock.moment)))
    }

    /// Loads the stored logins. No token is valid before.
    func load() async throws {
        let logins = try await records.values(LoginSessions.Record.self, in: .logins)
        let browsers = try await records.values(LoginSessions.Browser.self, in: .browsers)
        state.withLock { state in
            guard !state.isLoaded else { return }
            let now = clock.moment
            for (key, record) in logins { state.sessions.load(LoginID(key), record, now) }
            for (key, browser) in browsers { state.sessions.load(LoginID(key), browser, now) }
            state.isLoaded = true
        }
    }

    /// Drops the logins: another replica changes them now.
    func unload() {
        state.withLock { state in
            (state.sessions, state.probes, state.awaited) = (LoginSessions(), RightsProbes(clock.moment), [:])
            state.isLoaded = false
        }
    }

    var isLoaded: Bool { state.withLock(\.isLoaded) }

    // MARK: Logging in

    /// - Parameters:
    ///   - network: the browser's.
    ///   - browser: the token of a browser that has logged in before.
    func logIn(_ name: String, _ password: String, from network: ClientNetwork, browser: LoginToken?) async -> Answer {
        let begun = clock.moment
        let answer = await attempt(name, password, from: network, browser: browser)
        if case .accepted = answer { return answer }
        let rest = Self.failureTime - clock.moment.seconds(since: begun)
        if rest > 0 { try? await clock.wait(for: .seconds(rest)) }
        return answer
    }

    private func attempt(
        _ name: String, _ password: String, from network: ClientNetwork, browser: LoginToken?
    ) async -> Answer {
        let account = AccountName(name)
        let (attempt, decision) = state.withLock { state in
            let isKnown = account.map { account in
                browser.map { state.sessions.knows($0.id, for: account) } ?? false
            }
            let attempt = LoginAttempts.Attempt(account: account, network: network, isKnownBrowser: isKnown ?? false)
            return (attempt, state.isLoaded ? state.attempts.begin(attempt, clock.moment) : nil)
        }
        switch decision {
        case .none: return .notStored
        case .refuse(let seconds): return .tooMany(retryAfter: seconds)
        case .check(let seconds):
            var outcome = LoginAttempts.Outcome.unknown
            defer { state.withLock { [clock] in $0.attempts.finish(attempt, outcome, clock.moment) } }
            // A waiting attempt takes no slot.
            if seconds > 0, (try? await clock.wait(for: .seconds(seconds))) == nil { return .brokerAway }
            guard let account, (1...Self.longestPassword).contains(password.utf8.count) else {
                outcome = .wrong
                state.withLock { $0.refused += 1 }
                return .wrong
            }
            let credential = RightsProbes.Credential(account: account, password: Secret(password))
            let changes = state.withLock { $0.probes.changes(of: account) }
            switch await slots.run({ await ask(credential) }) {
            case .unavailable: return .brokerAway
            case .refused:
                outcome = .wrong
                state.withLock { $0.refused += 1 }
                logger.notice("login refused", metadata: [LogKey.address: "\(network)"])
                return .wrong
            case .accepted(let rights):
                outcome = .right
                return await begin(credential, rights, since: changes, browser: browser)
            }
        }
    }

    /// - Parameter changes: those of the account when the broker was asked for its rights.
    private func begin(
        _ credential: RightsProbes.Credential, _ rights: AccountRights, since changes: Int, browser: LoginToken?
    ) async -> Answer {
        let token = LoginToken()
        // A known browser keeps its token; another account's login on it gets a new one.
        let sealed = token.seal(credential.password, for: credential.account)
        let (browser, begun) = state.withLock { state in
            let now = clock.moment
            let isOutdated = state.probes.changes(of: credential.account) != changes
            let known = browser.flatMap { state.sessions.knows($0.id, for: credential.account) ? $0 : nil }
            let browser = known ?? LoginToken()
            var begun = state.sessions.begin(token.id, credential.account, sealed: sealed, rights, now)
            if rights.isViewer != nil, !isOutdated { begun += state.sessions.set(rights, of: credential.account) }
            begun.writes += state.sessions.remember(browser.id, for: credential.account, now)
            state.probes.begin(credential, of: token.id, rights, now)
            if isOutdated { state.probes.outdated(credential, now) }
            state.endProbes(begun)
            records.enqueue(begun.writes)
            return (browser, begun)
        }
        onEnd(begun)
        do {
            try await records.committed()
        } catch {
            perform { $0.sessions.end(token.id) }
            return .notStored
        }
        logger.info("logged in", metadata: [LogKey.user: "\(credential.account)"])
        return .accepted(token, browser: browser)
    }

    // MARK: Logins

    /// The logins, and the attempts that were refused.
    var counts: (logins: Int, refused: Int) { state.withLock { ($0.sessions.records.count, $0.refused) } }

    /// The login of a cookie's token; `nil` if it is over, or the broker has not confirmed its password for an hour. The
    /// first use after a pause waits for a probe.
    func login(_ token: LoginToken) async -> Login? {
        func find() -> (login: Login?, stale: RightsProbes.Credential?) {
            let (found, changes) = state.withLock { state in
                let now = clock.moment
                let (record, changes) = state.use(token.id, now)
                records.enqueue(changes.writes)
                guard let record, let password = token.open(record.sealed, for: record.account) else {
                    return ((Login?.none, RightsProbes.Credential?.none), changes)
                }
                let credential = RightsProbes.Credential(account: record.account, password: password)
                state.probes.use(credential, of: token.id, record.rights, now)
                let login = Login(
                    id: token.id, account: record.account, password: password, rights: record.rights)
                let stale = state.probes.takeStale(credential, now) ? credential : nil
                return ((state.probes.isTrusted(credential, now) ? login : nil, stale), changes)
            }
            if !changes.ended.isEmpty { onEnd(changes) }
            return found
        }
        let (login, stale) = find()
        guard let stale else { return login }
        await awaitProbe(stale)
        return find().login
    }

    /// Keeps a login in use while one of its streams is open, and returns whether the login is still valid.
    func use(_ login: Login) -> Bool {
        let (isValid, changes) = state.withLock { state -> (Bool, LoginSessions.Changes) in
            let now = clock.moment
            let (record, changes) = state.use(login.id, now)
            records.enqueue(changes.writes)
            guard let record else { return (false, changes) }
            let credential = RightsProbes.Credential(account: login.account, password: login.password)
            state.probes.use(credential, of: login.id, record.rights, now)
            return (state.probes.isTrusted(credential, now), changes)
        }
        if !changes.ended.isEmpty { onEnd(changes) }
        return isValid
    }

    /// Whether a login is still valid, with the same rights.
    func isCurrent(_ login: Login) -> Bool { state.withLock { $0.sessions.records[login.id]?.rights == login.rights } }

    /// - Throws: if the disk does not take the logout; the login is over all the same, until a restart.
    func logOut(_ login: Login, everywhere: Bool) async throws(StoreError) {
        perform { everywhere ? $0.sessions.endAll(of: login.account) : $0.sessions.end(login.id) }
        try await records.committed()
    }

    /// The broker refused a password: the logins that used it end.
    func refused(_ credential: RightsProbes.Credential) {
        logger.notice("password no longer valid, logged out", metadata: [LogKey.user: "\(credential.account)"])
        perform { state in
            state.probes.refused(credential).sorted().reduce(into: .init()) { $0 += state.sessions.end($1) }
        }
    }

    func perform(_ body: (inout State) -> LoginSessions.Changes) {
        let changes = state.withLock { state in
            let changes = body(&state)
            state.endProbes(changes)
            records.enqueue(changes.writes)
            return changes
        }
        if !changes.ended.isEmpty { onEnd(changes) }
    }
}

extension LoginService.State {
    /// The login of a token, if it is still valid.
    fileprivate mutating func use(_ id: LoginID, _ now: Moment) -> (LoginSessions.Record?, LoginSessions.Changes) {
        let (record, changes) = sessions.use(id, now)
        endProbes(changes)
        return (record, changes)
    }

    /// Forgets the passwords of logins that ended.
    fileprivate mutating func endProbes(_ changes: LoginSessions.Changes) {
        for id in changes.ended where sessions.records[id] == nil { probes.end(id) }
    }
}
