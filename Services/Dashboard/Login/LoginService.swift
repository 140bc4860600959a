import Bus
import DequeModule
import HTTPTypes
import Logging
import MQTT
import ServiceKit
import Synchronization
import Workouts

/// Logs people in, and says which cookies are valid.
final class LoginService: Sendable {
    enum Answer: Equatable, Sendable {
        case accepted(Login)
        /// The name, the password, or both.
        case wrong
        case tooMany(retryAfter: Double)
        /// The broker does not answer.
        case unavailable
    }

    enum Cookie: Equatable, Sendable {
        case valid(Login)
        /// None, or one that is over.
        case none
        /// Which logins have ended is not known yet.
        case unknown
    }

    private struct State {
        var attempts = LoginAttempts()
        var ended = EndedLogins()
        /// Logins that people left here, the newest: session-engine may be away.
        var left: Deque<String> = []
    }

    /// A failure takes at least as long, so that its time says nothing.
    private static let failureTime = 0.3
    private static let concurrentChecks = 4
    private static let longestPassword = 256
    private static let leftLimit = 1_000

    let cookies: LoginCookies
    private let clock: any WallClock
    private let logger: Logger
    private let check: @Sendable (User, Secret) async -> PasswordCheck.Answer
    private let onRefusal: @Sendable () -> Void
    private let slots = CheckSlots(concurrentChecks)
    private let state = Mutex(State())
    private let end = Mutex<@Sendable (User) -> Void>({ _ in })

    /// - Parameter check: see ``PasswordCheck/run(_:_:)``.
    init(
        cookies: LoginCookies, clock: any WallClock, logger: Logger, onRefusal: @escaping @Sendable () -> Void,
        check: @escaping @Sendable (User, Secret) async -> PasswordCheck.Answer
    ) {
        self.cookies = cookies
        self.clock = clock
        self.logger = logger
        self.onRefusal = onRefusal
        self.check = check
    }

    /// Calls this when logins of an account may have ended.
    func whenEnded(_ body: @escaping @Sendable (User) -> Void) { end.withLock { $0 = body } }

    var isReady: Bool { state.withLock(\.ended.isComplete) }

    /// Takes a message of the bus.
    func receive(_ message: MQTTMessage, _ now: Moment) throws(PayloadError) {
        let changed = try state.withLock { (state) throws(PayloadError) in try state.ended.receive(message, now) }
        if let changed { end.withLock { $0 }(changed) }
    }

    /// Everything that the broker retains has come.
    func receivedRetained() { state.withLock { $0.ended.receivedRetained() } }

    func tick(_ now: Moment) { state.withLock { $0.ended.tick(now) } }

    func hasEnded(_ login: Login) -> Bool {
        state.withLock { $0.ended.hasEnded(login) || $0.left.contains(login.id) }
    }

    /// Ends a login of this process' pages; their sign-out ends it everywhere.
    func leave(_ login: Login) {
        state.withLock { state in
            state.left.append(login.id)
            if state.left.count > Self.leftLimit { state.left.removeFirst() }
        }
        end.withLock { $0 }(login.account)
    }

    func isViewer(_ account: User) -> Bool { state.withLock { $0.ended.isViewer(account) } }

    /// The login of a request.
    func login(_ headers: HTTPFields) -> Cookie {
        guard let login = cookies.login(headers, clock.now) else { return .none }
        return state.withLock { state in
            guard state.ended.isComplete else { return .unknown }
            return state.ended.hasEnded(login) || state.left.contains(login.id) ? .none : .valid(login)
        }
    }

    /// - Parameter network: the browser's.
    func logIn(_ name: String, _ password: String, from network: ClientNetwork, _ headers: HTTPFields) async -> Answer {
        let begun = clock.moment
        let account = User(account: name)
        let isKnown = account.map { cookies.isKnown(headers, to: $0) } ?? false
        let attempt = LoginAttempts.Attempt(account: account, network: network, isKnownBrowser: isKnown)
        let answer = await run(attempt, password)
        if case .accepted = answer { return answer }
        let rest = Self.failureTime - clock.moment.seconds(since: begun)
        if rest > 0 { try? await clock.wait(for: .seconds(rest)) }
        return answer
    }

    private func run(_ attempt: LoginAttempts.Attempt, _ password: String) async -> Answer {
        switch state.withLock({ $0.attempts.begin(attempt, clock.moment) }) {
        case .refuse(let seconds): return .tooMany(retryAfter: seconds)
        case .check(let seconds):
            var outcome = LoginAttempts.Outcome.unknown
            defer { state.withLock { [clock] in $0.attempts.finish(attempt, outcome, clock.moment) } }
            // A waiting attempt takes no slot.
            if seconds > 0, (try? await clock.wait(for: .seconds(seconds))) == nil { return .unavailable }
            var answer = PasswordCheck.Answer.refused
            if let account = attempt.account, (1...Self.longestPassword).contains(password.utf8.count) {
                answer = await slots.run { await check(account, Secret(password)) }
            }
            switch answer {
            case .unavailable: return .unavailable
            case .refused:
                outcome = .wrong
                onRefusal()
                logger.notice("login refused", metadata: [LogKey.address: "\(attempt.network)"])
                return .wrong
            case .accepted:
                outcome = .right
                guard let account = attempt.account else { return .wrong }
                logger.info("logged in", metadata: [LogKey.user: "\(account)"])
                return .accepted(Login(account, Secret(password), at: clock.now))
            }
        }
    }
}
