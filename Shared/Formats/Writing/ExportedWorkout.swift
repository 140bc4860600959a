package import Workouts

/// What files are written from: a finished workout with its time series and its track.
package struct ExportedWorkout: Equatable, Sendable {
    package let workout: WorkoutRecord
    /// What was measured, by time: each moment of the series and of the track, nothing resampled.
    package let points: [ExportedPoint]

    package init(workout: WorkoutRecord, series: Series, track: Track) {
        self.workout = workout
        points = ExportedPoint.merge(series, track)
    }
}

/// What was measured at one moment. Absent is what nothing measured just then.
package struct ExportedPoint: Equatable, Sendable {
    let time: Timestamp
    var place: Place?
    /// Metres.
    var altitude: Double?
    /// Beats a minute.
    var heartRate: Double?
    /// Metres since the session began, pauses left out.
    var distance: Double?
    /// Metres a second.
    var speed: Double?
    /// Steps, or turns of a crank, a minute.
    var cadence: Double?
    /// Watts.
    var power: Double?
    /// °C.
    var temperature: Double?
    /// Steps since the point before that has any.
    var steps: Double?
    /// Kilocalories since the point before that has any.
    var activeEnergy: Double?
    /// Degrees.
    var course: Double?
    /// Metres within which the place is right.
    var horizontalAccuracy: Double?

    init(time: Timestamp) {
        self.time = time
    }
}

extension ExportedPoint {
    /// The rows of both, in the order of time; rows of the same time become one.
    ///
    /// The distance is what devices measured, else what the track shows; so is the speed.
    static func merge(_ series: Series, _ track: Track) -> [ExportedPoint] {
        let measured = points(series)
        let located = points(track, hasDistance: series[.distance] == nil)
        var merged: [ExportedPoint] = []
        merged.reserveCapacity(max(measured.count, located.count))
        func add(_ point: ExportedPoint) {
            guard let last = merged.indices.last, merged[last].time == point.time else { return merged.append(point) }
            merged[last].fill(from: point)
        }
        var next = 0
        for point in measured {
            while next < located.count, located[next].time < point.time {
                add(located[next])
                next += 1
            }
            add(point)
        }
        for fix in located[next...] { add(fix) }
        return merged
    }

    private static func points(_ series: Series) -> [ExportedPoint] {
        func column(_ quantity: Quantity) -> [Double?] {
            series[quantity] ?? [Double?](repeating: nil, count: series.times.count)
        }
        let (heartRate, distance, energy) = (column(.heartRate), column(.distance), column(.activeEnergy))
        let (speed, steps, cadence) = (column(.speed), column(.steps), column(.cadence))
        let (power, temperature) = (column(.power), column(.temperature))
        var covered = 0.0
        return series.times.indices.map { row in
            var point = ExportedPoint(time: series.times[row])
            point.heartRate = heartRate[row]
            if let delta = distance[row] {
                covered += delta
                point.distance = covered
            }
            point.activeEnergy = energy[row]
            point.speed = speed[row]
            point.steps = steps[row]
            point.cadence = cadence[row]
            point.power = power[row]
            point.temperature = temperature[row]
            return point
        }
    }

    private static func points(_ track: Track, hasDistance: Bool) -> [ExportedPoint] {
        func column(_ kind: Track.Kind) -> [Double?] {
            track[kind] ?? [Double?](repeating: nil, count: track.times.count)
        }
        let (latitude, longitude, altitude) = (column(.latitude), column(.longitude), column(.altitude))
        let (distance, speed, course) = (column(.distance), column(.speed), column(.course))
        let accuracy = column(.horizontalAccuracy)
        return track.times.indices.map { row in
            var point = ExportedPoint(time: track.times[row])
            if let la = latitude[row], let lo = longitude[row] { point.place = Place(la: la, lo: lo) }
            point.altitude = altitude[row]
            if hasDistance { point.distance = distance[row] }
            point.speed = speed[row]
            point.course = course[row]
            point.horizontalAccuracy = accuracy[row]
            return point
        }
    }

    /// Takes over what another source measured at the same moment, where this one has nothing.
    private mutating func fill(from other: ExportedPoint) {
        place = place ?? other.place
        altitude = altitude ?? other.altitude
        heartRate = heartRate ?? other.heartRate
        distance = distance ?? other.distance
        speed = speed ?? other.speed
        cadence = cadence ?? other.cadence
        power = power ?? other.power
        temperature = temperature ?? other.temperature
        steps = steps ?? other.steps
        activeEnergy = activeEnergy ?? other.activeEnergy
        course = course ?? other.course
        horizontalAccuracy = horizontalAccuracy ?? other.horizontalAccuracy
    }
}
