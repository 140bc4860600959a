import Bus
import ServiceKit
import Storage
import Workouts

/// The stored record of a user: contacts, blocks and who may invite.
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

    /// Keeps a meeting that makes a contact, once. Returns whether it is new, and not from before a deletion of everything.
    mutating func meet(_ meeting: RunMeeting) -> Bool {
        if let erasedAt, meeting.at <= erasedAt { return false }
        var known = (met ?? []).filter { meeting.at.seconds(since: $0.at) < RunMeeting.lifetime }
        if let index = known.firstIndex(where: { ($0.run, $0.user) == (meeting.run, meeting.user) }) {
            guard meeting.at > known[index].at else { return false }
            known.remove(at: index)
        }
        met = (known + [meeting]).suffix(RunMeeting.limit)
        return true
    }
}

/// A run in which a user met another one: one accepted the other's invitation.
struct RunMeeting: Codable, Hashable, Sendable {
    /// Meetings that a person's record keeps.
    fileprivate static let limit = 2_000
    /// Seconds; longer than any run is open, and 48 h.
    fileprivate static let lifetime = 14 * 86_400.0

    let run: RunID
    let user: User
    let at: Timestamp
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
    static let requestRate = 1.0
    static let requestBurst = 30.0
}
