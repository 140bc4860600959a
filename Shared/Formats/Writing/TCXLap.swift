import Workouts

/// A lap of a TCX file: its totals, and its points in tracks without pauses.
struct TCXLap {
    let start: Timestamp
    /// Seconds without pauses.
    let duration: Double
    let distance: Double?
    let activeEnergy: Double?
    let averageHeartRate: Double?
    let maximumHeartRate: Double?
    var maximumSpeed: Double?
    /// In the format's unit.
    var averageCadence: Double?
    var steps: Double?
    var averagePower: Double?
    var maximumPower: Double?
    var tracks: [[PlacedPoint]] = []

    /// Distance divided by active time.
    var averageSpeed: Double? { duration > 0 ? distance.map { $0 / duration } : nil }

    /// The laps of a workout; one lap if no lap was marked.
    static func laps(of exported: ExportedWorkout, _ active: ActiveTime) -> [TCXLap] {
        let workout = exported.workout
        var laps = workout.laps.map { TCXLap($0, of: workout.activity, start: active.start(from: $0.startedAt)) }
        if laps.isEmpty {
            let start = active.segments.first?.start ?? workout.startedAt ?? exported.points.first?.time
            laps = [TCXLap(whole: workout, start: start ?? Timestamp(microseconds: 0))]
        }
        for points in stretches(of: exported, active) {
            var lap: Int?
            for point in points {
                if point.position.lap != lap { laps[point.position.lap].tracks.append([]) }
                lap = point.position.lap
                laps[point.position.lap].add(point)
            }
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

    private mutating func add(_ point: PlacedPoint) {
        tracks[tracks.count - 1].append(point)
        if let speed = point.point[.speed] { maximumSpeed = max(maximumSpeed ?? speed, speed) }
    }

    /// The points of each segment. Its start and end without measurements become points with a time only.
    private static func stretches(of exported: ExportedWorkout, _ active: ActiveTime) -> [[PlacedPoint]] {
        var stretches = [[PlacedPoint]](repeating: [], count: active.segments.count)
        for point in exported.points {
            let placed = PlacedPoint(point, in: active)
            if let segment = placed.position.segment { stretches[segment].append(placed) }
        }
        for (index, segment) in active.segments.enumerated() {
            func edge(_ time: Timestamp) -> PlacedPoint? {
                let placed = PlacedPoint(ExportedPoint(time: time), in: active)
                // A bound shared with the next segment belongs to the next one.
                return placed.position.segment == index ? placed : nil
            }
            func isWritten(_ point: PlacedPoint?, at time: Timestamp) -> Bool {
                point?.point.time.ticks(of: 1_000) == time.ticks(of: 1_000)
            }
            if !isWritten(stretches[index].first, at: segment.start), let start = edge(segment.start) {
                stretches[index].insert(start, at: 0)
            }
            if !isWritten(stretches[index].last, at: segment.end), let end = edge(segment.end) {
                stretches[index].append(end)
            }
        }
        return stretches
    }
}
