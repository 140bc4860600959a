/// The cumulative route of a session. Its revision never decreases. Absent values are unknown, never zero.
package struct RouteSnapshot: Equatable, Sendable {
    package var user: User
    package var revision: Int64
    /// The time of the newest item.
    package var newest: Timestamp?
    /// Metres.
    package var distance: Double?
    /// Degrees: the last accepted position.
    package var latitude: Double?
    package var longitude: Double?
    /// Metres.
    package var altitude: Double?
    /// Metres per second.
    package var speed: Double?
    package var maximumSpeed: Double?
    /// Metres of ascent per metre, over the last half minute.
    package var grade: Double?
    /// Metres.
    package var ascent: Double?
    package var descent: Double?
    /// One encoded polyline (precision 5) per unbroken line.
    package var polyline: [String] = []
    /// The number of stored items.
    package var count = 0

    package init(user: User, revision: Int64) {
        self.user = user
        self.revision = revision
    }
}

/// The part of `route` that live metrics use. Absent values are unknown.
package struct RouteProgress: Equatable, Sendable {
    package var revision: Int64
    /// The time of the newest location.
    package var newest: Timestamp?
    /// Metres.
    package var distance: Double?
    /// Metres of ascent.
    package var ascent: Double?
    /// Degrees: the last accepted position.
    package var latitude: Double?
    package var longitude: Double?
    /// Metres per second.
    package var speed: Double?
    package var maximumSpeed: Double?
    /// Metres of ascent per metre.
    package var grade: Double?

    package init(revision: Int64) {
        self.revision = revision
    }
}
