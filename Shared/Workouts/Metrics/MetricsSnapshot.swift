/// The source of a session's active energy.
package enum EnergySource: String, Codable, Sendable {
    case device, estimate
    /// Measured by a device for a part of the session, estimated for the rest.
    case mixed
}

/// The live metrics of a session, cumulative, under a revision that never decreases. Absent means unknown, never zero.
package struct MetricsSnapshot: Equatable, Sendable {
    package var user: User
    package var revision: Int64
    /// The time of the newest item.
    package var newest: Timestamp?
    /// Active seconds as of `newest`; readers tick on from `segments`.
    package var activeSeconds: Double?
    /// Metres.
    package var distance: Double?
    /// Seconds per kilometre.
    package var pace: Double?
    /// Beats per minute.
    package var heartRate: Double?
    package var averageHeartRate: Double?
    package var maximumHeartRate: Double?
    /// Seconds in each heart rate zone.
    package var zones: [Double]?
    /// Kilocalories.
    package var activeEnergy: Double?
    package var energySource: EnergySource?
    /// Metres per second.
    package var speed: Double?
    /// Per minute.
    package var cadence: Double?
    /// Watts.
    package var power: Double?
    /// Whether the clock is stopped.
    package var isPaused = false
    /// The current lap, from 1.
    package var lap = 1
    /// Pace and speed that change at most every 5 s, so that a display does not flicker.
    package var displayPace: Double?
    package var displaySpeed: Double?
    /// The device's battery, 0…1.
    package var battery: Double?
    /// Degrees: the last position on the route.
    package var latitude: Double?
    package var longitude: Double?
    /// Metres climbed along the route.
    package var ascent: Double?
    /// Items stored.
    package var count = 0
    /// The latest values of the quantities without a property here, and the totals of their deltas; only a list has more
    /// than one value.
    package var others: [Quantity: [Double]] = [:]

    package init(user: User, revision: Int64) {
        self.user = user
        self.revision = revision
    }
}
