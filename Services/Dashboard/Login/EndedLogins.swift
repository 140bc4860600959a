import Bus
import MQTT
import ServiceKit
import Workouts

/// Which logins people have ended, by the retained topics of session-engine. A value without a clock.
struct EndedLogins: Sendable {
    private var newest: [User: SignedOut] = [:]
    /// The accounts that only watch others.
    private var viewers: Set<User> = []
    private var engines = OnlineProcesses()
    private var hasRetained = false
    /// Whether what session-engine has stored is known: no cookie is accepted before. It stays known while the broker or
    /// session-engine is away.
    private(set) var isComplete = false

    /// Takes a message. Returns the account whose ended logins changed.
    mutating func receive(_ message: MQTTMessage, _ now: Moment) throws(PayloadError) -> User? {
        switch Topic(message.topic) {
        case .presence("session-engine", let process): try engines.receive(message, of: process, now)
        case .account(let user):
            if try AccountRights(message)?.viewer == true { viewers.insert(user) } else { viewers.remove(user) }
        case .user(let account, .signedOut):
            guard !message.payload.isEmpty else { break }
            let ended = try JSONCoding.decode(SignedOut.self, from: message.payload)
            guard ended.revision > newest[account]?.revision ?? .min else { break }
            newest[account] = ended
            return account
        default: break
        }
        return nil
    }

    /// Everything that the broker retains has come.
    mutating func receivedRetained() { hasRetained = true }

    mutating func tick(_ now: Moment) {
        engines.expire(now)
        if hasRetained, !engines.isEmpty { isComplete = true }
    }

    func hasEnded(_ login: Login) -> Bool {
        guard let ended = newest[login.account] else { return false }
        return ended.logins.contains { $0.id == login.id } || ended.before.map { login.loggedInAt <= $0 } ?? false
    }

    func isViewer(_ account: User) -> Bool { viewers.contains(account) }
}
