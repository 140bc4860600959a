import Bus
import HTTPTypes
import Hummingbird
import Logging
import MQTT
import ServiceKit
import Synchronization
import Workouts

/// Logs people in, and says which cookies are valid.
final class LoginService: Sendable {
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
        var left: [String] = []
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
    /// - Throws: `HTTPError` with a sentence for people: the name or the password is wrong, there are too many attempts, or the
    ///   broker does not answer.
    func logIn(
        _ name: String, _ password: String, from network: ClientNetwork, _ headers: HTTPFields
    ) async throws(HTTPError) -> Login {
        let begun = clock.moment
        let account = User(account: name)
        let isKnown = account.map { cookies.isKnown(headers, to: $0) } ?? false
        do throws(HTTPError) {
            return try await run(
                LoginAttempts.Attempt(account: account, network: network, isKnownBrowser: isKnown), Secret(password))
        } catch {
            let rest = Self.failureTime - clock.moment.seconds(since: begun)
            if rest > 0 { try? await clock.wait(for: .seconds(rest)) }
            throw error
        }
    }

    private func run(_ attempt: LoginAttempts.Attempt, _ password: Secret) async throws(HTTPError) -> Login {
        let wait: Double
        switch state.withLock({ $0.attempts.begin(attempt, clock.moment) }) {
        case .refuse(let retryAfter):
            let seconds = Int(retryAfter.rounded(.up))
            throw HTTPError(
                .tooManyRequests, headers: [.retryAfter: "\(seconds)"],
                message: "Too many attempts. Try again in \(seconds) seconds.")
        case .check(let after): wait = after
        }
        let answer = await answer(attempt, password, after: wait)
        state.withLock { $0.attempts.finish(attempt, answer, clock.moment) }
        guard answer != .unavailable else {
            throw HTTPError(
                .serviceUnavailable, headers: [.retryAfter: "60"],
                message: "Passwords cannot be checked now. Try again in a minute.")
        }
        guard answer == .accepted, let account = attempt.account else {
            onRefusal()
            let user = attempt.account?.description ?? ""
            logger.notice("login refused", metadata: [LogKey.address: "\(attempt.network)", LogKey.user: "\(user)"])
            throw HTTPError(.unauthorized, message: "Name or password is wrong.")
        }
        logger.info("logged in", metadata: [LogKey.user: "\(account)"])
        return Login(account, password, at: clock.now)
    }

    private func answer(
        _ attempt: LoginAttempts.Attempt, _ password: Secret, after wait: Double
    ) async -> PasswordCheck.Answer {
        // A waiting attempt takes no slot.
        if wait > 0, (try? await clock.wait(for: .seconds(wait))) == nil { return .unavailable }
        guard let account = attempt.account, (1...Self.longestPassword).contains(password.value.utf8.count) else {
            return .refused
        }
        return await slots.run { await check(account, password) }
    }
}
