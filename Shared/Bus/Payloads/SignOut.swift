package import Workouts

/// A person's request to end logins on web pages, on `sign-out`.
package struct SignOut: Codable, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// All logins that began before.
        case all
        /// The login of an id.
        case one(String)
    }

    package let id: CommandID
    package let client: Client?
    package let kind: Kind

    private enum Key: String, CodingKey { case id, client, type, login }

    /// The bytes of a login's id.
    private static let idLimit = 64

    package init(id: CommandID, client: Client?, kind: Kind) {
        self.id = id
        self.client = client
        self.kind = kind
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try container.decode(CommandID.self, forKey: .id)
        client = try container.decodeIfPresent(Client.self, forKey: .client)
        switch try container.decode(String.self, forKey: .type) {
        case "all": kind = .all
        case "one":
            let login = try container.decode(String.self, forKey: .login)
            guard (1...Self.idLimit).contains(login.utf8.count),
                login.utf8.allSatisfy({
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                })
            else {
                throw DecodingError.dataCorruptedError(
                    forKey: .login, in: container, debugDescription: "expected 1 to 64 lowercase letters and digits")
            }
            kind = .one(login)
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container, debugDescription: "expected all or one")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: .id)
        try container.encodeIfPresent(client, forKey: .client)
        switch kind {
        case .all: try container.encode("all", forKey: .type)
        case .one(let login):
            try container.encode("one", forKey: .type)
            try container.encode(login, forKey: .login)
        }
    }
}

/// The logins of an account that were ended, on `signed-out`.
package struct SignedOut: Codable, Equatable, Sendable {
    package struct Login: Codable, Equatable, Sendable {
        package let id: String
        /// When it was ended.
        package let at: Timestamp
    }

    /// No login lasts longer, in seconds.
    package static let longest = 30 * 86_400.0
    /// The most logins that are named. One more ends all.
    package static let limit = 100

    package private(set) var revision: Int64
    /// Logins that began until then are over; absent if all were never ended.
    package private(set) var before: Timestamp?
    /// Those that were ended one by one in the last 30 days, oldest first.
    package private(set) var logins: [Login]

    package init(revision: Int64 = 0, before: Timestamp? = nil, logins: [Login] = []) {
        self.revision = revision
        self.before = before
        self.logins = logins
    }

    /// Ends logins under a new revision.
    package mutating func end(_ kind: SignOut.Kind, revision: Int64, at now: Timestamp) {
        self.revision = revision
        logins.removeAll { now.seconds(since: $0.at) > Self.longest }
        switch kind {
        case .one(let id) where logins.contains { $0.id == id }: return
        case .one(let id) where logins.count < Self.limit: logins.append(Login(id: id, at: now))
        case .one, .all:
            // A step of the clock backwards brings no login back.
            before = max(before ?? now, now)
            logins = []
        }
    }

    /// The same under a higher revision.
    package mutating func revise(_ revision: Int64) { self.revision = revision }
}
