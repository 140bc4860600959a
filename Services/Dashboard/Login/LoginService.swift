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

    private struct State {
        var attempts = LoginAttempts()
        var sessions = LoginSessions()
        var probes = RightsProbes()
        var isLoaded = false
        var refused = 0
    }

    /// A failure takes at least as long, so that its time says nothing.
    private static let failureTime = 0.3
    private static let concurrentChecks = 4
    private static let expiryInterval = 60.0
    private static let longestPassword = 256

    private let clock: any WallClock
    private let logger: Logger
    private let records: RecordStore
    private let ask: @Sendable (RightsProbes.Credential) async -> BrokerAccounts.Answer
    private let isEngineOnline: @Sendable () -> Bool
    private let onEnd: @Sendable (LoginSessions.Changes) -> Void
    private let slots = CheckSlots(concurrentChecks)
    private let state = Mutex(State())

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
    }

    /// Loads the stored logins. Until then nobody is logged in.
    func load() async throws {
        let now = clock.moment
        let logins = try await records.records(in: .logins)
        let browsers = try await records.records(in: .browsers)
        state.withLock { state in
            guard !state.isLoaded else { return }
            for stored in logins {
                guard let record = try? JSONCoding.decode(LoginSessions.Record.self, from: stored.value, now: now)
                else { continue }
                state.sessions.load(LoginID(stored.key), record, now)
            }
            for stored in browsers {
                guard let browser = try? JSONCoding.decode(LoginSessions.Browser.self, from: stored.value, now: now)
                else { continue }
                state.sessions.load(LoginID(stored.key), browser, now)
            }
            state.isLoaded = true
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
            switch await slots.run({ await ask(credential) }) {
            case .unavailable: return .brokerAway
            case .refused:
                outcome = .wrong
                state.withLock { $0.refused += 1 }
                logger.notice("login refused", metadata: [LogKey.user: "\(account)"])
                return .wrong
            case .accepted(let seen):
                outcome = .right
                return await begin(credential, seen: seen, browser: browser)
            }
        }
    }

    private func begin(
        _ credential: RightsProbes.Credential, seen: Set<User>, browser: LoginToken?
    ) async -> Answer {
        let token = LoginToken()
        // A known browser keeps its token; another account's login on it gets a new one.
        let sealed = token.seal(credential.password, for: credential.account)
        let (browser, changes) = state.withLock { state in
            let now = clock.moment
            let known = browser.flatMap { state.sessions.knows($0.id, for: credential.account) ? $0 : nil }
            let browser = known ?? LoginToken()
            var changes = state.sessions.begin(token.id, credential.account, sealed: sealed, seen: seen, now)
            changes.writes += state.sessions.remember(browser.id, for: credential.account, now)
            state.probes.begin(credential, seen: seen, now)
            records.enqueue(changes.writes)
            return (browser, changes)
        }
        onEnd(changes)
        do {
            try await records.committed()
        } catch {
            perform { $0.end(token.id) }
            return .notStored
        }
        logger.info("logged in", metadata: [LogKey.user: "\(credential.account)"])
        return .accepted(token, browser: browser)
    }

    // MARK: Logins

    /// The logins, and the attempts that were refused.
    var counts: (logins: Int, refused: Int) { state.withLock { ($0.sessions.records.count, $0.refused) } }

    /// The login of a cookie's token; `nil` if it is over, or the broker has not confirmed its password for an hour.
    func login(_ token: LoginToken) -> Login? {
        let (login, changes) = state.withLock { state -> (Login?, LoginSessions.Changes) in
            let now = clock.moment
            let (record, changes) = state.sessions.use(token.id, now)
            records.enqueue(changes.writes)
            guard let record, let password = token.open(record.sealed, for: record.account) else {
                return (nil, changes)
            }
            let credential = RightsProbes.Credential(account: record.account, password: password)
            state.probes.use(credential, seen: record.seen, now)
            guard state.probes.isTrusted(credential, now) else { return (nil, changes) }
            let login = Login(id: token.id, account: record.account, password: password, seen: record.seen)
            return (login, changes)
        }
        if !changes.ended.isEmpty { onEnd(changes) }
        return login
    }

    /// Keeps a login in use while one of its streams is open, and returns whether the login is still valid.
    func use(_ login: Login) -> Bool {
        state.withLock { state in
            let now = clock.moment
            let (record, changes) = state.sessions.use(login.id, now)
            records.enqueue(changes.writes)
            guard let record else { return false }
            let credential = RightsProbes.Credential(account: login.account, password: login.password)
            state.probes.use(credential, seen: record.seen, now)
            return state.probes.isTrusted(credential, now)
        }
    }

    /// - Throws: if the disk does not take the logout; the login is over all the same, until a restart.
    func logOut(_ login: Login, everywhere: Bool) async throws(StoreError) {
        perform { everywhere ? $0.endAll(of: login.account) : $0.end(login.id) }
        try await records.committed()
    }

    /// The broker refused an account's password: its logins end.
    func refused(_ account: AccountName) {
        logger.notice("password no longer valid, logged out", metadata: [LogKey.user: "\(account)"])
        state.withLock { $0.probes.remove(account) }
        perform { $0.endAll(of: account) }
    }

    private func perform(_ body: (inout LoginSessions) -> LoginSessions.Changes) {
        let changes = state.withLock { state in
            let changes = body(&state.sessions)
            records.enqueue(changes.writes)
            return changes
        }
        if !changes.ended.isEmpty { onEnd(changes) }
    }

    // MARK: Probes

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { tasks in
                var expired = self.clock.moment
                while (try? await self.clock.wait(for: .seconds(1))) != nil {
                    let now = self.clock.moment
                    if now.seconds(since: expired) >= Self.expiryInterval {
                        expired = now
                        self.perform { $0.expire(now) }
                    }
                    for credential in self.state.withLock({ $0.probes.take(now) }) {
                        tasks.addTask { await self.probe(credential) }
                    }
                }
                tasks.cancelAll()
            }
        }
    }

    private func probe(_ credential: RightsProbes.Credential) async {
        let answer = await ask(credential)
        let now = clock.moment
        switch answer {
        case .refused: refused(credential.account)
        case .unavailable: state.withLock { $0.probes.unanswered(credential, now) }
        case .accepted(let seen):
            let isOnline = isEngineOnline()
            let changed = state.withLock {
                $0.probes.answered(credential, seen, isEngineOnline: isOnline, now)
            }
            if let changed { perform { $0.see(changed, by: credential.account) } }
        }
    }
}
