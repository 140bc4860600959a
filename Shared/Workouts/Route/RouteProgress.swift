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
