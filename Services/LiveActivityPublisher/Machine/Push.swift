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

/// The outcome of a push, and how long it took.
struct EndedPush: Sendable {
    let push: Push
    let outcome: PushOutcome
    let took: Duration
}
