import Bus
import ServiceKit
import Storage
import Workouts

/// The stored record of a user: contacts and limits.
struct PersonRecord: Codable, Equatable, Sendable {
    /// Seconds in which a user's invitations count.
    private static let day = 86_400.0

    var contacts: [User] = []
    var blocked: [User] = []
    var invitesFrom = InvitesFrom.everyone
    /// `people`; 0 before the first revision and after a deletion.
    var topic = RetainedTopic()
    /// The invitations since ``invitingSince``.
    var invitations = 0
    var invitingSince: Moment?
    /// The user's latest deletion of everything that this service applied.
    var erasedAt: Timestamp?
    /// The runs whose `partners` a deletion cleared, and when; each connect clears them again for 48 h.
    var clearedAt: [RunID: Moment]?

    /// Invitations that may still be sent today.
    func invitationsLeft(_ now: Moment) -> Int {
        guard let invitingSince, now.seconds(since: invitingSince) < Self.day else { return RunLimit.invitations }
        return RunLimit.invitations - invitations
    }

    mutating func countInvitations(_ count: Int, _ now: Moment) {
        if invitationsLeft(now) == RunLimit.invitations {
            invitations = 0
            invitingSince = now
        }
        invitations += count
    }

    /// Whether this user lets another one invite them.
    func accepts(invitationOf host: User) -> Bool {
        guard !blocked.contains(host) else { return false }
        return switch invitesFrom {
        case .everyone: true
        case .contacts: contacts.contains(host)
        case .nobody: false
        }
    }

    /// Limits moments that were stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) {
        invitingSince = invitingSince?.atMost(now)
        clearedAt = clearedAt?.mapValues { $0.atMost(now) }
    }
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
