import ServiceKit
import Workouts

/// The deadlines of a run. One that has passed, or no longer can, is `nil`.
struct RunDeadlines: Codable, Equatable, Sendable {
    /// Seconds from the creation of a run until its invitations are over.
    static let invitation = 86_400.0
    static let confirmation = 60.0
    /// Seconds for the delivery of a start, before its countdown.
    static let delivery = 1.0
    /// Seconds after the start until a participant without a session is absent.
    static let absence = 600.0
    /// Seconds before the scheduled time at which a host can begin.
    static let earlyBegin = 3_600.0

    /// The end of open invitations. It has no effect without one.
    private(set) var expires: Moment
    /// The beginning of confirming, of a scheduled run.
    private(set) var begins: Moment?
    private(set) var confirmBy: Moment?
    private(set) var starts: Moment?
    /// The end of a rolling run.
    private(set) var closes: Moment?
    private var isConfirmingExtended = false

    init(_ settings: RunSettings, _ now: Moment) {
        expires = now + Self.invitation
        if let scheduled = settings.scheduledAt {
            expires = max(expires, now.when(scheduled))
            begins = now.when(scheduled) - Self.confirmation
        }
        if let end = settings.endsAt {
            expires = max(expires, now.when(end))
            closes = now.when(end)
        }
    }

    /// The deadline that ends a status.
    func end(of status: RunStatus) -> Moment? {
        switch status {
        case .inviting: begins.map { min($0, expires) } ?? expires
        case .confirming: confirmBy
        case .starting: starts
        case .running: closes
        case .finished, .canceled: nil
        }
    }

    /// An invitation lasts 24 h at least.
    mutating func extendInvitations(_ now: Moment) {
        expires = max(expires, now + Self.invitation)
    }

    mutating func beginConfirming(_ now: Moment) {
        begins = nil
        confirmBy = now + Self.confirmation
    }

    /// Gives a participant who accepts while confirming the time to confirm, once.
    mutating func extendConfirming(_ now: Moment) {
        guard !isConfirmingExtended else { return }
        isConfirmingExtended = true
        confirmBy = now + Self.confirmation
    }

    /// Returns the start of those who have confirmed: at once, or at the scheduled time where that is later.
    mutating func start(_ settings: RunSettings, _ now: Moment) -> (Moment, Timestamp) {
        let soon = ownStart(settings, now)
        confirmBy = nil
        guard let scheduled = settings.scheduledAt, now.when(scheduled) > soon else {
            starts = soon
            return (soon, soon.wallClock)
        }
        starts = now.when(scheduled)
        return (now.when(scheduled), scheduled)
    }

    /// The start of a participant who confirms now, not before the others.
    func ownStart(_ settings: RunSettings, _ now: Moment) -> Moment {
        let soon = now + (Self.delivery + settings.countdown)
        return max(soon, starts ?? soon)
    }

    mutating func passStart() { starts = nil }

    mutating func passClose() { closes = nil }

    /// The run is over.
    mutating func end() { (begins, confirmBy, starts, closes) = (nil, nil, nil, nil) }

    /// Limits deadlines that were stored before the wall clock stepped backwards.
    mutating func limit(_ settings: RunSettings, to now: Moment) {
        let isPlanned = settings.scheduledAt != nil || settings.endsAt != nil
        expires = expires.atMost(now + (isPlanned ? RunSettings.horizon : Self.invitation))
        begins = begins?.atMost(now + RunSettings.horizon)
        closes = closes?.atMost(now + RunSettings.horizon)
        confirmBy = confirmBy?.atMost(now + Self.confirmation)
        starts = starts?.atMost(Self.latestStart(settings, now))
    }

    /// The latest start that a run can have which is starting now.
    static func latestStart(_ settings: RunSettings, _ now: Moment) -> Moment {
        now + (settings.scheduledAt == nil ? delivery + settings.countdown : earlyBegin)
    }
}
