import Bus
import Foundation
import Workouts

/// One request to APNs, ready to be sent.
struct Push: Hashable, Sendable {
    let key: SessionKey
    let device: Device
    let token: String
    let environment: ActivityRegistration.Environment
    /// The `apns-id`, the same for every attempt.
    let id: UUID
    /// 5 or 10.
    let priority: Int
    /// When APNs stops trying; `nil` for a single attempt.
    let expiration: Timestamp?
    let payload: [UInt8]
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
