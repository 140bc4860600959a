import Foundation
import Workouts

/// A login, for as long as its cookie is valid.
struct LoginID: Hashable, Sendable {
    let uuid: UUID

    init(_ uuid: UUID = UUID()) {
        self.uuid = uuid
    }
}

/// A signed-in person.
struct Login: Sendable {
    let id: LoginID
    let user: User
    let isOperator: Bool
    /// The users whom the broker lets the account see, itself included.
    let seen: Set<User>

    func maySee(_ user: User) -> Bool { isOperator || user == self.user || seen.contains(user) }

    /// Only one's own session.
    func mayControl(_ user: User) -> Bool { !isOperator && user == self.user }
}
