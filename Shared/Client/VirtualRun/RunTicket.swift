package import Bus
package import Workouts

/// What a device needs to begin its part of a virtual run. It is stored with the queue, so that a restarted device
/// continues without the view.
package struct RunTicket: Codable, Equatable, Sendable {
    package var run: RunID
    /// The session that every device of the user starts, and the id of that `start`.
    package var session: SessionID
    package var startId: CommandID
    /// When the session becomes active, by the services' clock.
    package var startAt: Timestamp
    /// Seconds that the services' clock is ahead of the device's, for ``startAt`` and the times of items.
    package var offset: Double
    /// When the run began: what `gun` counts from.
    package var gun: Timestamp
    package var goal: RunGoal?
    package var clock: RunClock

    /// Seconds after which a device begins with a countdown of its own instead of at the time of the view.
    package static let lateness = 5.0

    /// - Parameters:
    ///   - now: the time of the device's clock.
    ///   - offset: seconds that the services' clock is ahead of it.
    /// - Returns: `nil` until the view names the session and the start.
    package init?(_ view: VirtualRunView, now: Timestamp, offset: Double) {
        // Whole milliseconds, so that no time is rounded twice.
        let offset = (offset * 1_000).rounded() / 1_000
        let now = now + offset
        guard let own = view.own, let session = own.session, let startId = own.startId, let startsAt = own.startsAt
        else { return nil }
        run = view.run
        self.session = session
        self.startId = startId
        startAt = now.seconds(since: startsAt) > Self.lateness ? now + view.settings.countdown : startsAt
        self.offset = offset
        gun = view.settings.start == .rolling ? startAt : view.startsAt ?? startsAt
        goal = view.settings.goal
        clock = view.settings.clock
    }
}
