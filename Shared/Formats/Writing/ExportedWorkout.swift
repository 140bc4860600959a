package import Workouts

/// The input of all formats: a finished workout with its time series and its track.
package struct ExportedWorkout: Equatable, Sendable {
    package let workout: WorkoutRecord
    /// The measurements by time: each moment of the series and of the track, without resampling.
    package let points: [ExportedPoint]

    package init(workout: WorkoutRecord, series: Series, track: Track) {
        self.workout = workout
        points = ExportedPoint.merge(series, track)
    }
}

/// The measurements of one moment. Values that were not measured are absent.
package struct ExportedPoint: Equatable, Sendable {
    let time: Timestamp
    var place: Place?
    /// Metres.
    var altitude: Double?
    /// Degrees.
    var course: Double?
    /// The accuracy of the place in metres.
    var horizontalAccuracy: Double?
    /// The distance is in metres since the session's start, without pauses. Other deltas count from the previous point
    /// with a value.
    var values = Sample()

    init(time: Timestamp) {
        self.time = time
    }

    subscript(quantity: Quantity) -> Double? {
        get { values[quantity] }
        set { values[quantity] = newValue }
    }
}

extension ExportedPoint {
    /// The rows of both, ordered by time; rows of equal time are merged.
    ///
    /// Distance and speed are measured by devices, otherwise by the track.
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
        var points = series.times.map(ExportedPoint.init(time:))
        for column in series.columns where Quantity.recorded.contains(column.quantity) {
            let quantity = column.quantity
            var covered = 0.0
            for row in points.indices {
                if quantity.isList {
                    points[row].values[all: quantity] = column[all: row]
                } else if let value = column[row] {
                    covered += value
                    points[row][quantity] = quantity == .distance ? covered : value
                }
            }
        }
        return points
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
            if hasDistance { point[.distance] = distance[row] }
            point[.speed] = speed[row]
            point.course = course[row]
            point.horizontalAccuracy = accuracy[row]
            return point
        }
    }

    /// Adds measurements of another source at the same moment that this point lacks.
    mutating func fill(from other: ExportedPoint) {
        place = place ?? other.place
        altitude = altitude ?? other.altitude
        course = course ?? other.course
        horizontalAccuracy = horizontalAccuracy ?? other.horizontalAccuracy
        for quantity in other.values.quantities where values[quantity] == nil {
            values[all: quantity] = other.values[all: quantity]
        }
    }
}
