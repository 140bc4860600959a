import MQTT
import Workouts

/// A signed-in person, set by the login middleware on `context.login`.
struct Login: Equatable, Sendable {
    let id: LoginID
    let account: AccountName
    /// For connections with the person's own rights.
    let password: Secret
    let rights: AccountRights
    var seen: Set<User> { rights.seen }

    /// `nil` for the operator.
    var user: User? { account.user }
    var isOperator: Bool { account == .operators }

    /// Whether it is a person who trains. The account of a viewer watches others and owns nothing.
    var ownsWorkouts: Bool { user != nil && rights.isViewer != true }

    func maySee(_ user: User) -> Bool { isOperator || seen.contains(user) }

    /// Only the own name, never for the operator or a viewer's account.
    func mayControl(_ user: User) -> Bool { ownsWorkouts && self.user == user }
}

/// The SHA-256 of a login's token, in hex. It opens nothing.
struct LoginID: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    init(from decoder: any Decoder) throws {
        description = try decoder.singleValueContainer().decode(String.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    static func < (left: LoginID, right: LoginID) -> Bool { left.description < right.description }
}

/// The account of a login: a person's, or the operator's. Services' accounts cannot log in.
enum AccountName: Hashable, Comparable, Sendable, CustomStringConvertible {
    case person(User)
    case operators

    private static let operatorsName = "_operator"

    init?(_ text: String) {
        if text == Self.operatorsName {
            self = .operators
        } else if let user = User(text) {
            self = .person(user)
        } else {
            return nil
        }
    }

    var user: User? {
        switch self {
        case .person(let user): user
        case .operators: nil
        }
    }

    var description: String {
        switch self {
        case .person(let user): user.description
        case .operators: Self.operatorsName
        }
    }
}

extension AccountName: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let name = AccountName(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an account that can log in")
        }
        self = name
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
