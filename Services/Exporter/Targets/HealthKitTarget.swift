import Bus
import Client
import Formats
import Workouts

/// Apple's HealthKit, which only the user's devices can write to.
struct HealthKitTarget: ExportTarget {
    static let name = Target.healthKit
    static let policy = ExportPolicy.device
    static let concurrency = 0

    init() {}

    init(_ configuration: ExportConfiguration, _ resources: ExportResources) {}

    func deliver(
        _ workout: ExportedWorkout, idempotencyKey: String, fence: DeliveryFence, allowance: ByteAllowance
    ) async -> Delivery {
        .refused("the user's device performs this export")
    }
}

extension Target {
    /// Apple's HealthKit, through the user's device.
    static let healthKit = Target("healthkit")!
}

extension HealthKitWorkout {
    /// Describes a finished workout in the terms of HealthKit.
    init(_ workout: WorkoutRecord) {
        let start = workout.startedAt ?? workout.segments.first?.start ?? workout.endedAt ?? Timestamp(microseconds: 0)
        let end = max(start, workout.endedAt ?? workout.segments.last?.end ?? start)
        self.init(
            activityType: workout.activity.healthKitActivityType,
            locationType: workout.environment == .indoor ? .indoor : .outdoor, startDate: start, endDate: end,
            duration: workout.activeDuration, events: Self.events(workout, start...end),
            quantities: Self.quantities(workout), metadata: Metadata(workout))
        seriesRevision = workout.summaries[ChunkKind.series.summary]
        routeRevision = workout.polyline == nil ? nil : workout.summaries[ChunkKind.track.summary]
    }

    private static func events(_ workout: WorkoutRecord, _ bounds: ClosedRange<Timestamp>) -> [Event] {
        var pauses: [Event] = []
        for (index, segment) in workout.segments.enumerated() {
            guard let end = segment.end, end < bounds.upperBound else { continue }
            let next = index + 1 < workout.segments.count ? workout.segments[index + 1].start : bounds.upperBound
            guard end < next else { continue }
            pauses.append(Event(type: .pause, date: end))
            if next < bounds.upperBound { pauses.append(Event(type: .resume, date: next)) }
        }
        let kept = pauses.prefix(eventLimit)
        let laps = workout.laps.prefix(eventLimit - kept.count).map { lap in
            Event(type: .lap, date: lap.startedAt, duration: max(0, lap.endedAt.seconds(since: lap.startedAt)))
        }
        return (kept + laps).filter { bounds.contains($0.date) }
            .sorted { ($0.date, $0.type.rawValue) < ($1.date, $1.type.rawValue) }
    }

    private static func quantities(_ workout: WorkoutRecord) -> [Quantity] {
        var quantities: [Quantity] = []
        func add(_ identifier: String?, _ statistic: Quantity.Statistic, _ unit: String, _ value: Double?) {
            guard let identifier, let value else { return }
            quantities.append(
                Quantity(
                    identifier: "HKQuantityTypeIdentifier\(identifier)", statistic: statistic, unit: unit, value: value)
            )
        }
        let types = workout.activity.healthKitTypes
        add("ActiveEnergyBurned", .sum, "kcal", workout.activeEnergy)
        add(types.distance, .sum, "m", workout.distance)
        add("StepCount", .sum, "count", workout.steps)
        add("HeartRate", .average, "count/min", workout.averageHeartRate)
        add("HeartRate", .maximum, "count/min", workout.maximumHeartRate)
        add(types.speed, .average, "m/s", workout.averageSpeed)
        add(types.speed, .maximum, "m/s", workout.maximumSpeed)
        add(types.power, .average, "W", workout.averagePower)
        add(types.power, .maximum, "W", workout.maximumPower)
        return quantities
    }
}

extension HealthKitWorkout.Metadata {
    fileprivate init(_ workout: WorkoutRecord) {
        self.init(
            SessionKey(workout.user, workout.session), revision: workout.revision,
            isIndoor: workout.environment == .indoor)
        elevationAscended = workout.ascent.map { Quantity($0, unit: "m") }
        weatherTemperature = workout.weather.map { Quantity($0.temperature, unit: "degC") }
        weatherHumidity = workout.weather?.humidity.map { Quantity($0 * 100, unit: "%") }
        averageSpeed = workout.averageSpeed.map { Quantity($0, unit: "m/s") }
        maximumSpeed = workout.maximumSpeed.map { Quantity($0, unit: "m/s") }
        timeZone = workout.timeZone
    }
}
