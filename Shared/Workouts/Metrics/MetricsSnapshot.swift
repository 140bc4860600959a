/// The source of a session's active energy.
package enum EnergySource: String, Codable, Sendable {
    case device, estimate
    /// Measured by a device for a part of the session, estimated for the rest.
    case mixed
}

/// A device's part in a session.
package struct DevicePresence: Equatable, Sendable {
    /// The time of its newest item.
    package var newest: Timestamp
    /// Its last battery, 0…1.
    package var battery: Double?

    package init(newest: Timestamp, battery: Double? = nil) {
        self.newest = newest
        self.battery = battery
    }
}

/// The live metrics of a session, cumulative, under a revision that never decreases. Absent means unknown, never zero.
package struct MetricsSnapshot: Equatable, Sendable {
    package var user: User
    package var revision: Int64
    /// The virtual run of the session.
    package var run: RunID?
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
    package var averageCadence: Double?
    package var averagePower: Double?
    /// Seconds per kilometre of active time.
    package var averagePace: Double?
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
    package var maximumSpeed: Double?
    package var steps: Double?
    /// Degrees Celsius at the device.
    package var temperature: Double?
    /// Active seconds without stretches at rest.
    package var movingSeconds: Double?
    /// Whether the clock is stopped.
    package var isPaused = false
    /// The current lap, from 1.
    package var lap = 1
    /// Active seconds and metres of the current lap.
    package var lapSeconds: Double?
    package var lapDistance: Double?
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
    /// The devices whose samples arrived.
    package var devices: [Device: DevicePresence] = [:]
    /// The latest values of the quantities without a property here, and the totals of their deltas; only a list has more
    /// than one value.
    package var others: [Quantity: [Double]] = [:]

    package init(user: User, revision: Int64) {
        self.user = user
        self.revision = revision
    }

    /// Metres per second over some seconds of active time.
    package func averageSpeed(_ seconds: Double?) -> Double? {
        guard let distance, let seconds, distance > 0, seconds > 0 else { return nil }
        return distance / seconds
    }
}
