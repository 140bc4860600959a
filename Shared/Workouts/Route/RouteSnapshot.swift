/// The route of a session so far, cumulative, under a revision that never goes back. Absent means unknown, never zero.
package struct RouteSnapshot: Equatable, Sendable {
    package var user: User
    package var revision: Int64
    /// The time of the newest item.
    package var newest: Timestamp?
    /// Metres.
    package var distance: Double?
    /// Degrees: the last position that was accepted.
    package var latitude: Double?
    package var longitude: Double?
    /// Metres.
    package var altitude: Double?
    /// Metres per second.
    package var speed: Double?
    /// Metres.
    package var ascent: Double?
    package var descent: Double?
    /// One encoded polyline (precision 5) for each unbroken line.
    package var polyline: [String] = []
    /// Items stored.
    package var count = 0

    package init(user: User, revision: Int64) {
        self.user = user
        self.revision = revision
    }
}

/// How far the route of a session has come, as the live metrics take it from `route`. Absent means unknown.
package struct RouteProgress: Equatable, Sendable {
    package var revision: Int64
    /// The time of the newest location.
    package var newest: Timestamp?
    /// Metres.
    package var distance: Double?
    /// Metres climbed.
    package var ascent: Double?
    /// Degrees: the last position that was accepted.
    package var latitude: Double?
    package var longitude: Double?
    /// Metres per second.
    package var speed: Double?

    package init(revision: Int64) {
        self.revision = revision
    }
}
