import Bus
import Foundation
import ServiceKit
import Workouts

/// An APNs token.
struct PushToken: Codable, Equatable, Sendable {
    /// Hex digits.
    var token: String
    var environment: ActivityRegistration.Environment
}

/// One session's Live Activity on one device.
struct DeviceActivity: Codable, Equatable, Sendable {
    struct Start: Codable, Equatable, Sendable {
        /// The `apns-id`, the same for every attempt.
        let id: UUID
        /// When it was last sent.
        var sentAt: Moment
        /// Whether APNs accepted it; if so, it is not repeated.
        var isConfirmed = false
    }

    struct End: Codable, Equatable, Sendable {
        /// The `apns-id`, the same for every attempt.
        let id: UUID
        /// When it became due.
        var since: Moment
        /// When the activity started.
        var began: Moment
        /// Whether another activity follows because of iOS' limit.
        var isRenewal = false
    }

    enum Phase: Codable, Equatable, Sendable {
        /// Nothing is shown. To `starting` when a start is due and there is a start token; to `active` when the app
        /// began one. Without a time, no start is due until the app registers again.
        case none(startsAt: Moment?)
        /// A push starts it. To `active` with the token that the app registers; to `none` if the start failed.
        case starting(Start)
        /// Shown. To `ending` when the session is over, the activity too old or the device withdrawn; to `none` when
        /// its token expires.
        case active(PushToken, since: Moment)
        /// The end is pending. To `ended`; to `none` when it is renewed; to `active` when the session continues. While
        /// a refused renewal waits, updates continue.
        case ending(PushToken, End)
        /// The end is shown. To `dismissed`; to `none` when the session continues.
        case ended(dismissesAt: Moment)
        /// To `none` when the session continues.
        case dismissed
    }

    let device: Device
    /// When the device withdrew. The device is kept until its activity ends, to avoid a second activity beside it.
    var withdrawnAt: Moment?
    var phase = Phase.none(startsAt: nil)
    /// The push-to-start token.
    var startToken: PushToken?
    /// When a start was last sent.
    var startedAt: Moment?
    /// The revision of the last state pushed; `nil` if none was.
    var toldRevision: Int64?
    /// The token of the last ended activity: a late registration of it is ignored.
    var endedToken: String?

    init(device: Device) {
        self.device = device
    }

    /// The shown activity's token.
    var updateToken: PushToken? {
        switch phase {
        case .active(let token, _), .ending(let token, _): token
        case .none, .starting, .ended, .dismissed: nil
        }
    }

    /// The `apns-id` of the pending start or end.
    var id: UUID? {
        switch phase {
        case .starting(let start): start.id
        case .ending(_, let end): end.id
        case .none, .active, .ended, .dismissed: nil
        }
    }

    var isWithdrawn: Bool { withdrawnAt != nil }

    /// Whether a push may show the session's values now or soon.
    func isShown(isOver: Bool) -> Bool {
        switch phase {
        case .none, .starting: !isOver && !isWithdrawn
        case .active, .ending: true
        case .ended, .dismissed: false
        }
    }

    /// Whether another activity follows the one that ends.
    var isRenewed: Bool {
        guard case .ending(_, let end) = phase else { return false }
        return end.isRenewal
    }
}
