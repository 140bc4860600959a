/// One entry of a user's history.
package struct WorkoutOverview: Codable, Hashable, Sendable {
    package let session: SessionID
    package let name: String
    package let activity: Activity
    package let environment: Environment
    package let startedAt: Timestamp?
    package let endedAt: Timestamp?
    package let timeZone: String?
    /// Seconds without pauses.
    package let activeDuration: Double
    /// Seconds from start to end, pauses included.
    package let elapsedDuration: Double
    /// Active seconds without stretches at rest.
    package let movingDuration: Double?
    package let distance: Double?
    package let activeEnergy: Double?
    package let energySource: EnergySource?
    package let averageHeartRate: Double?
    package let maximumHeartRate: Double?
    package let averageSpeed: Double?
    package let maximumSpeed: Double?
    package let averageCadence: Double?
    package let averagePower: Double?
    package let maximumPower: Double?
    package let steps: Double?
    /// Metres.
    package let ascent: Double?
    package let descent: Double?
    package let bests: Bests?
    package let load: TrainingLoad?
    /// The route as one encoded polyline.
    package let sketch: String?
    /// The number of the workout's last change among all changes of the user's workouts. It rises with every change.
    package var changed: Int64?
    /// What only the user may read: see ``WorkoutEdit``.
    package var note: String?
    package var exertion: Int?

    package init(_ workout: WorkoutRecord, changed: Int64? = nil, edit: WorkoutEdit? = nil) {
        self.changed = changed
        note = edit?.note
        exertion = edit?.exertion
        session = workout.session
        name = workout.name
        activity = workout.activity
        environment = workout.environment
        startedAt = workout.startedAt
        endedAt = workout.endedAt
        timeZone = workout.timeZone
        activeDuration = workout.activeDuration
        elapsedDuration = workout.elapsedDuration
        movingDuration = workout.movingDuration
        distance = workout.distance
        activeEnergy = workout.activeEnergy
        energySource = workout.energySource
        averageHeartRate = workout.averageHeartRate
        maximumHeartRate = workout.maximumHeartRate
        averageSpeed = workout.averageSpeed
        maximumSpeed = workout.maximumSpeed
        averageCadence = workout.averageCadence
        averagePower = workout.averagePower
        maximumPower = workout.maximumPower
        steps = workout.steps
        ascent = workout.ascent
        descent = workout.descent
        bests = workout.bests
        load = workout.load
        sketch = workout.sketch
    }

    /// The entry as viewers may read it.
    package var forViewers: WorkoutOverview {
        var overview = self
        overview.note = nil
        overview.exertion = nil
        return overview
    }

    /// The position in the history.
    package var place: HistoryPlace {
        HistoryPlace(at: startedAt ?? endedAt ?? Timestamp(microseconds: 0), session: session)
    }
}

/// The position of a workout in a user's history: by start, then by id.
package struct HistoryPlace: Codable, Hashable, Comparable, Sendable {
    /// The start of the workout; the end if it never became active.
    package let at: Timestamp
    package let session: SessionID

    package init(at: Timestamp, session: SessionID) {
        self.at = at
        self.session = session
    }

    package static func < (left: HistoryPlace, right: HistoryPlace) -> Bool {
        (left.at, left.session) < (right.at, right.session)
    }
}
