import Bus
import Foundation
import Workouts

/// A token of APNs.
struct PushToken: Codable, Equatable, Sendable {
    /// Hex digits.
    var token: String
    var environment: ActivityRegistration.Environment
}

/// The Live Activity of one session on one device.
struct DeviceActivity: Codable, Equatable, Sendable {
    struct Start: Codable, Equatable, Sendable {
        /// The `apns-id`, the same each time.
        let id: UUID
        /// When it was sent the last time.
        var sentAt: Timestamp
        /// Whether APNs has taken it: then it is not sent again.
        var isConfirmed = false
    }

    struct End: Codable, Equatable, Sendable {
        /// The `apns-id`, the same each time.
        let id: UUID
        /// When it was due.
        var since: Timestamp
        /// When the activity began.
        var began: Timestamp
        /// Another activity follows: this one comes near iOS's limit.
        var isRenewal = false
    }

    enum Phase: Codable, Equatable, Sendable {
        /// Nothing is shown. To `starting` when a start is due and there is a token for it; to `active` when the app has begun
        /// one. Without a time no start is due before the app registers again.
        case none(startsAt: Timestamp?)
        /// A push is to start it. To `active` with the token that the app registers then; to `none` when it was not taken.
        case starting(Start)
        /// To `ending` when the session is over, the activity too old or not wanted any more; to `none` when its token is gone.
        case active(PushToken, since: Timestamp)
        /// The end is to be sent. To `ended`; to `none` when it is renewed; to `active` when it is to go on after all. While
        /// a refused renewal waits, it is told what it shows.
        case ending(PushToken, End)
        /// It shows the end. To `dismissed`; to `none` when the session goes on after all.
        case ended(dismissesAt: Timestamp)
        /// To `none` when the session goes on after all.
        case dismissed
    }

    let device: Device
    /// When the device withdrew. It is kept until its activity has ended: another one would appear beside that.
    var withdrawnAt: Timestamp?
    var phase = Phase.none(startsAt: nil)
    /// Begins an activity.
    var startToken: PushToken?
    /// When a start was sent last.
    var startedAt: Timestamp?
    /// The revision of the state that the activity was told of last; `nil` when it was told of none.
    var toldRevision: Int64?
    /// The token of the activity that was ended last: what comes of it late begins nothing.
    var endedToken: String?

    init(device: Device) {
        self.device = device
    }

    /// The token of the activity that is shown.
    var updateToken: PushToken? {
        switch phase {
        case .active(let token, _), .ending(let token, _): token
        case .none, .starting, .ended, .dismissed: nil
        }
    }

    /// The `apns-id` of the start or end that is to be taken.
    var id: UUID? {
        switch phase {
        case .starting(let start): start.id
        case .ending(_, let end): end.id
        case .none, .active, .ended, .dismissed: nil
        }
    }

    var isWithdrawn: Bool { withdrawnAt != nil }

    /// Whether another activity is to follow the one that ends.
    var isRenewed: Bool {
        guard case .ending(_, let end) = phase else { return false }
        return end.isRenewal
    }
}
