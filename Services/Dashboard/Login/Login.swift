import Crypto
import Foundation
import MQTT
import ServiceKit
import Workouts

/// A login as its cookie holds it. It ends 30 days after it began or after 7 days without use, an operator's after 12 hours.
struct Login: Equatable, Sendable {
    static let day = 86_400.0
    static let longest = 30 * day
    static let longestUnused = 7 * day
    static let longestOfOperators = day / 2

    /// 32 random hex digits. It opens nothing.
    let id: String
    let account: User
    let password: Secret
    let loggedInAt: Timestamp
    /// When the cookie was written, at most a day before its last use.
    var renewedAt: Timestamp

    init(_ account: User, _ password: Secret, at now: Timestamp) {
        id = SymmetricKey(size: .bits128).withUnsafeBytes(\.hexDigits)
        self.account = account
        self.password = password
        loggedInAt = now
        renewedAt = now
    }

    /// When it is over without another use.
    var end: Timestamp {
        let longest = account == .operators ? Self.longestOfOperators : Self.longest
        return min(loggedInAt + longest, renewedAt + Self.longestUnused)
    }

    func isDueForRenewal(_ now: Timestamp) -> Bool { now.seconds(since: renewedAt) >= Self.day }
}

extension Login: Codable {
    private enum Key: String, CodingKey { case id, account, password, loggedInAt, renewedAt }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try container.decode(String.self, forKey: .id)
        guard let account = User(account: try container.decode(String.self, forKey: .account)) else {
            throw DecodingError.dataCorruptedError(forKey: .account, in: container, debugDescription: "cannot log in")
        }
        self.account = account
        password = Secret(try container.decode(String.self, forKey: .password))
        loggedInAt = try container.decode(Timestamp.self, forKey: .loggedInAt)
        renewedAt = try container.decode(Timestamp.self, forKey: .renewedAt)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: .id)
        try container.encode("\(account)", forKey: .account)
        try container.encode(password.value, forKey: .password)
        try container.encode(loggedInAt, forKey: .loggedInAt)
        try container.encode(renewedAt, forKey: .renewedAt)
    }
}
