import FIT
import Workouts

extension Recording {
    /// The first session of a FIT activity.
    init(_ activity: FITActivity) {
        let session = activity.session
        let ranges = activity.activeSegments
        let sorted = activity.records.sorted { $0.time < $1.time }
        let records = sorted.filter { session.start <= $0.time && $0.time <= session.end }
        let (kind, environment) = Self.activity(session.sport, session.subSport)
        let before = sorted.last { $0.time < session.start && $0.distance != nil }?.distance
        var deltas = DistanceDeltas(
            base: before ?? Self.base(records.compactMap(\.distance), session: session.distance))
        // In other activities recordings do not count steps.
        let countsSteps = kind.countsStrides
        var sums = [Double](repeating: 0, count: Quantity.allCases.count)

        self.init(
            start: Timestamp(seconds: session.start), end: Timestamp(seconds: session.end),
            segments: ranges.map { Timestamp(seconds: $0.lowerBound)...Timestamp(seconds: $0.upperBound) },
            activity: kind, environment: environment, samples: [])
        samples = records.map { record in
            var sample = Sample(time: Timestamp(seconds: record.time))
            sample.set(.heartRate, record.heartRate)
            sample.set(.speed, record.speed)
            sample.set(.power, record.power)
            sample.set(.temperature, record.temperature)
            sample.set(.cadence, record.cadence.map { $0 * kind.cadenceFactor })
            let isInside = ranges.contains { $0.contains(record.time) }
            for quantity in Quantity.recorded where !quantity.isNamed {
                let values = record.values(quantity)
                if quantity.isDelta {
                    guard isInside, let value = values.first else { continue }
                    sample.set(quantity, Self.growth(of: &sums[quantity.rawValue], to: value))
                } else {
                    sample[all: quantity] = Array(
                        values.filter(quantity.range.contains).prefix(quantity.isList ? Quantity.listLimit : 1))
                }
            }
            guard isInside else { return sample }
            sample.set(.distance, record.distance.map { deltas.delta(to: $0) })
            sample.set(
                .activeEnergy, record.calories.map { Self.growth(of: &sums[Quantity.activeEnergy.rawValue], to: $0) })
            if countsSteps {
                sample.set(
                    .steps,
                    record.cycles.map { Self.growth(of: &sums[Quantity.steps.rawValue], to: $0 * kind.cadenceFactor) })
            }
            return sample
        }
        locations = records.compactMap { record in
            Location(
                time: Timestamp(seconds: record.time), latitude: record.latitude, longitude: record.longitude,
                altitude: record.altitude, accuracy: record.gpsAccuracy, speed: record.speed)
        }
    }

    /// The distance at the start of the session: the device may have counted before, or an editor cut it.
    static func base(_ distances: [Double], session total: Double?) -> Double {
        guard let total, let first = distances.first, let last = distances.last else { return 0 }
        return min(max(0, last - total), first)
    }

    /// The increase of a number that grows from record to record.
    private static func growth(of counted: inout Double, to value: Double) -> Double {
        defer { counted = max(counted, value) }
        return max(0, value - counted)
    }

    private static func activity(_ sport: FITSport?, _ subSport: FITSubSport?) -> (Activity, Environment?) {
        let environment: Environment? =
            switch subSport {
            case .treadmill?, .indoorWalking?, .indoorCycling?, .indoorRowing?, .lapSwimming?, .virtual?: .indoor
            case .trail?, .openWater?: .outdoor
            default: nil
            }
        let activity: Activity =
            switch (sport, subSport) {
            case (.running?, _), (.fitnessEquipment?, .treadmill?): .running
            case (.cycling?, _), (.fitnessEquipment?, .indoorCycling?): .cycling
            case (.rowing?, _), (.fitnessEquipment?, .indoorRowing?): .rowing
            case (.swimming?, _): .swimming
            case (.walking?, _): .walking
            case (.hiking?, _): .hiking
            case (.training?, .strength?): .traditionalStrength
            case (.fitnessEquipment?, .strength?): .functionalStrength
            case (.hiit?, _), (_, .hiit?): .hiit
            default: .other
            }
        return (activity, environment)
    }
}

extension FITActivity.Record {
    /// The values of a quantity in its field of the profile or of a developer.
    fileprivate func values(_ quantity: Quantity) -> [Double] {
        switch quantity.fit {
        case .record: quantity.fitField.flatMap(number).map { [$0] } ?? []
        case .developer: developer[quantity.name] ?? []
        case .absent: []
        }
    }
}
