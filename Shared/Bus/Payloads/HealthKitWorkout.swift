package import Workouts

/// What a companion app needs to write a workout to HealthKit, in HealthKit's own identifiers, units and raw values.
///
/// For an `HKWorkoutBuilder`: the configuration is made from ``activityType`` and ``locationType``; collection begins
/// at ``startDate`` and ends at ``endDate``; events, samples made from ``quantities``, and metadata are added
/// unchanged. The sync identifier and version make HealthKit replace what an earlier revision wrote.
package struct HealthKitWorkout: Codable, Hashable, Sendable {
    /// Events of one workout, more than a session can have, so that a status stays within the size of a payload; beyond it
    /// laps are left out first.
    package static let eventLimit = 2_400

    /// The raw value of `HKWorkoutActivityType`.
    package var activityType: Int
    /// The raw value of `HKWorkoutSessionLocationType`.
    package var locationType: LocationType
    /// Unix seconds, as everywhere on the bus.
    package var startDate: Timestamp
    package var endDate: Timestamp
    /// Seconds without pauses: as HealthKit computes them from the dates and the events.
    package var duration: Double
    /// Sorted by time, all within the workout.
    package var events: [Event]
    package var quantities: [Quantity]
    package var metadata: Metadata
    /// The revision of `summary/metrics` whose chunks `series/{n}` hold the single samples, for an app that writes those
    /// too; absent when there are none.
    package var seriesRevision: Int64?
    /// The revision of `summary/route` whose chunks `track/{n}` hold the places for an `HKWorkoutRouteBuilder`; absent when
    /// there is no route.
    package var routeRevision: Int64?

    package enum LocationType: Int, Codable, Sendable {
        case indoor = 2
        case outdoor = 3
    }

    /// An `HKWorkoutEvent`: its type, and its interval from a date, so many seconds long.
    package struct Event: Codable, Hashable, Sendable {
        /// The raw value of `HKWorkoutEventType`.
        package enum Kind: Int, Codable, Sendable {
            case pause = 1
            case resume = 2
            case lap = 3
        }

        package var type: Kind
        package var date: Timestamp
        /// Of a lap: all its seconds, pauses included. Pauses and resumes are moments.
        package var duration: Double?

        package init(type: Kind, date: Timestamp, duration: Double? = nil) {
            self.type = type
            self.date = date
            self.duration = duration
        }
    }

    /// A value over the whole workout.
    package struct Quantity: Codable, Hashable, Sendable {
        package enum Statistic: String, Codable, Sendable {
            /// One sample from start to end holds it.
            case sum
            /// One sample from start to end holds it, unless the single samples are written.
            case average
            /// For display: HealthKit computes it from the single samples.
            case maximum
        }

        /// The raw value of `HKQuantityTypeIdentifier`.
        package var identifier: String
        package var statistic: Statistic
        /// A string for `HKUnit(from:)`.
        package var unit: String
        package var value: Double

        package init(identifier: String, statistic: Statistic, unit: String, value: Double) {
            self.identifier = identifier
            self.statistic = statistic
            self.unit = unit
            self.value = value
        }
    }

    /// The workout's metadata under HealthKit's keys.
    package struct Metadata: Codable, Hashable, Sendable {
        /// An `HKQuantity`.
        package struct Quantity: Codable, Hashable, Sendable {
            /// A string for `HKUnit(from:)`.
            package var unit: String
            package var value: Double

            package init(_ value: Double, unit: String) {
                self.unit = unit
                self.value = value
            }
        }

        package var isIndoor: Bool
        /// Metres.
        package var elevationAscended: Quantity?
        /// °C.
        package var weatherTemperature: Quantity?
        /// Percent, 0 to 100, as in the workouts that a watch writes.
        package var weatherHumidity: Quantity?
        /// m/s.
        package var averageSpeed: Quantity?
        package var maximumSpeed: Quantity?
        /// The session.
        package var externalUUID: String
        /// The same for all revisions of a workout, and another for each workout of each user.
        package var syncIdentifier: String
        /// The revision of the workout.
        package var syncVersion: Int64
        /// An IANA time zone.
        package var timeZone: String?

        private enum CodingKeys: String, CodingKey {
            case isIndoor = "HKIndoorWorkout"
            case elevationAscended = "HKElevationAscended"
            case weatherTemperature = "HKWeatherTemperature"
            case weatherHumidity = "HKWeatherHumidity"
            case averageSpeed = "HKAverageSpeed"
            case maximumSpeed = "HKMaximumSpeed"
            case externalUUID = "HKExternalUUID"
            case syncIdentifier = "HKSyncIdentifier"
            case syncVersion = "HKSyncVersion"
            case timeZone = "HKTimeZone"
        }

        /// - Parameter revision: of the workout.
        package init(_ key: SessionKey, revision: Int64, isIndoor: Bool) {
            self.isIndoor = isIndoor
            externalUUID = key.session.description
            syncIdentifier = key.description
            syncVersion = revision
        }
    }

    package init(
        activityType: Int, locationType: LocationType, startDate: Timestamp, endDate: Timestamp, duration: Double,
        events: [Event] = [], quantities: [Quantity] = [], metadata: Metadata
    ) {
        self.activityType = activityType
        self.locationType = locationType
        self.startDate = startDate
        self.endDate = endDate
        self.duration = duration
        self.events = events
        self.quantities = quantities
        self.metadata = metadata
    }
}
