import Bus
import Foundation
import Workouts

/// One request to APNs, ready to be sent.
struct Push: Hashable, Sendable {
    let key: SessionKey
    let device: Device
    let token: String
    let environment: ActivityRegistration.Environment
    /// APNs knows the push by it; the same on a retry.
    let id: UUID
    /// 5 or 10.
    let priority: Int
    /// Until when APNs keeps trying; `nil` for at once or never.
    let expiration: Timestamp?
    let payload: [UInt8]
}

/// What became of a push.
enum PushOutcome: Equatable, Sendable {
    case delivered
    /// APNs knows the token no more: it is to be dropped.
    case tokenGone(reason: String)
    /// A mistake of ours or in the settings: this push is not to be sent again.
    case refused(reason: String)
    /// Worth another try later, after this many seconds when APNs said so.
    case failed(reason: String, retryAfter: Double?)
}

/// What the machine wants done: first what is saved and erased, in one commit, then the rest.
enum ActivityAction: Hashable {
    /// The session's record, as it stands when it is written.
    case save(SessionKey)
    case erase(SessionKey)
    /// What stands on `activity` is to be what ``LiveActivityPublisherMachine/message(of:)`` says by then.
    case publish(SessionKey)
    case reply(User, Client, Reply)
    case report(PushReport)
}

/// A change in how APNs does, for the log.
enum PushReport: Hashable {
    case answering
    /// Pushes are tried again, less and less often.
    case failing(String)
    /// Pushes are not taken for a mistake of ours, or one in the settings.
    case refusing(String)
}
