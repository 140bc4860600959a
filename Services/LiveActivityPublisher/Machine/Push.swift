import Bus
import Foundation
import Workouts

/// Whose record a push or a reply belongs to.
enum PushOwner: Hashable, Sendable {
    /// A session with Live Activities.
    case session(SessionKey)
    /// A user with notifications.
    case user(User)

    var user: User {
        switch self {
        case .session(let key): key.user
        case .user(let user): user
        }
    }

    var shard: Shard {
        switch self {
        case .session(let key): key.session.shard
        case .user(let user): user.shard
        }
    }
}

/// One request to APNs, ready to be sent.
struct Push: Hashable, Sendable {
    /// Of a session: a push for its Live Activity; of a user: an alert.
    let owner: PushOwner
    let device: Device
    let token: String
    let environment: ActivityRegistration.Environment
    /// The `apns-id`, the same for every attempt.
    let id: UUID
    /// 5 or 10.
    let priority: Int
    /// When APNs stops trying; `nil` for a single attempt.
    let expiration: Timestamp?
    /// A phone shows the newest alert of those with the same.
    var collapseID: String?
    let payload: [UInt8]

    var isAlert: Bool {
        if case .user = owner { true } else { false }
    }
}

/// The outcome of a push.
enum PushOutcome: Equatable, Sendable {
    case delivered
    /// The token has expired and must be removed.
    case tokenGone(reason: String)
    /// An invalid request or setting: the push is not repeated.
    case refused(reason: String)
    /// A temporary failure; retried after this many seconds if APNs named a delay.
    case failed(reason: String, retryAfter: Double?)
}

/// The outcome of a push, and how long it took.
struct EndedPush: Sendable {
    let push: Push
    let outcome: PushOutcome
    let took: Duration
}
