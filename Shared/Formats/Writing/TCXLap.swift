import Workouts

/// The totals of a lap of a TCX file.
struct TCXLap {
    let start: Timestamp
    /// Seconds without pauses.
    let duration: Double
    let distance: Double?
    let activeEnergy: Double?
    let averageHeartRate: Double?
    let maximumHeartRate: Double?
    var maximumSpeed: Double?
    /// The average cadence in the format's unit.
    var averageCadence: Double?
    var steps: Double?
    var averagePower: Double?
    var maximumPower: Double?

    /// Distance divided by active time.
    var averageSpeed: Double? { duration > 0 ? distance.map { $0 / duration } : nil }

    /// The laps of a workout; one lap if no lap was marked.
    static func laps(of exported: ExportedWorkout, _ active: ActiveTime) -> [TCXLap] {
        let workout = exported.workout
        var laps = workout.laps.map { TCXLap($0, of: workout.activity, start: active.start(from: $0.startedAt)) }
        if laps.isEmpty {
            let start = active.segments.first?.start ?? workout.startedAt ?? exported.survey.first
            laps = [TCXLap(whole: workout, start: start ?? Timestamp(microseconds: 0))]
        }
        for (lap, speed) in exported.survey.maximumSpeeds {
            laps[lap].maximumSpeed = max(laps[lap].maximumSpeed ?? speed, speed)
        }
        return laps
    }

    private init(_ lap: MetricsSummary.Lap, of activity: Activity, start: Timestamp) {
        self.start = start
        duration = lap.duration
        distance = lap.distance
        activeEnergy = lap.activeEnergy
        averageHeartRate = lap.averageHeartRate
        maximumHeartRate = lap.maximumHeartRate
        averageCadence = activity.cadenceInFiles(lap.averageCadence)
        averagePower = lap.averagePower
    }

    private init(whole workout: WorkoutRecord, start: Timestamp) {
        self.start = start
        duration = workout.activeDuration
        distance = workout.distance
        activeEnergy = workout.activeEnergy
        averageHeartRate = workout.averageHeartRate
        maximumHeartRate = workout.maximumHeartRate
        maximumSpeed = workout.maximumSpeed
        averageCadence = workout.activity.cadenceInFiles(workout.averageCadence)
        steps = workout.steps
        averagePower = workout.averagePower
        maximumPower = workout.maximumPower
    }
}
