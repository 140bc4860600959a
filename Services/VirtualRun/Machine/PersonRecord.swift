import Bus
import ServiceKit
import Storage
import Workouts

/// The stored record of a user: contacts and limits.
struct PersonRecord: Codable, Equatable, Sendable {
    var contacts: [User] = []
    var blocked: [User] = []
    var invitesFrom = InvitesFrom.everyone
    /// `people`; 0 before the first revision and after a deletion.
    var topic = RetainedTopic()
    /// The user's latest deletion of everything that this service applied.
    var erasedAt: Timestamp?
    /// The latest ``RunMeeting``s that made contacts.
    var met: [RunMeeting]?

    /// Whether this user lets another one invite them.
    func accepts(invitationOf host: User) -> Bool {
        guard !blocked.contains(host) else { return false }
        return switch invitesFrom {
        case .everyone: true
        case .contacts: contacts.contains(host)
        case .nobody: false
        }
    }

    /// Keeps that a meeting made a contact, once. Returns whether it is new.
    mutating func meet(_ meeting: RunMeeting) -> Bool {
        guard met?.contains(meeting) != true else { return false }
        met = ((met ?? []) + [meeting]).suffix(RunLimit.meetings)
        return true
    }
}

/// A run in which a user met another one: one accepted the other's invitation.
struct RunMeeting: Codable, Hashable, Sendable {
    let run: RunID
    let user: User
}

/// The limits of a user.
enum RunLimit {
    /// Unfinished runs that the user hosts.
    static let hosted = 10
    /// Invitations a day.
    static let invitations = 100
    /// Open invitations to one person.
    static let openToOne = 3
    /// Open invitations that an invitee is shown.
    static let shown = 20
    static let replies = 200
    /// Meetings that a person's record keeps.
    static let meetings = 200
    static let requestRate = 1.0
    static let requestBurst = 30.0
}
