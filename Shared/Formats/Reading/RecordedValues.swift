import Workouts

/// Converts a recorded distance, which grows from record to record, to the metres of each item.
struct DistanceDeltas {
    /// The distance that is counted so far, with the base.
    private(set) var counted: Double

    init(base: Double) {
        counted = base
    }

    /// The metres to send for a record inside a segment.
    ///
    /// A distance that decreases counts nothing until it exceeds what was counted. Metres above the limit of an item go
    /// to the items that follow.
    mutating func delta(to distance: Double) -> Double {
        let limit = Quantity.distance.range.upperBound
        guard distance - counted <= limit else {
            counted += limit
            return limit
        }
        let delta = (max(0, distance - counted) * 100).rounded() / 100
        counted = max(counted, distance)
        return delta
    }
}

extension StreamItem {
    /// Sets the value unless it is outside the range of the field.
    mutating func set(_ field: Field, _ value: Double?) {
        guard let value, field.range.contains(value) else { return }
        self[field] = value
    }
}

extension Location {
    /// A record's position with its values in the file, or its altitude alone; `nil` without either.
    init?(
        time: Timestamp, latitude: Double?, longitude: Double?, altitude: Double?, accuracy: Double? = nil,
        speed: Double?, course: Double? = nil
    ) {
        self.init(time: time)
        set(.latitude, latitude)
        set(.longitude, longitude)
        set(.altitude, altitude)
        guard hasPosition else {
            guard let altitude = self.altitude else { return nil }
            self.init(time: time)
            self[.altitude] = altitude
            return
        }
        set(.horizontalAccuracy, accuracy)
        set(.speed, speed)
        set(.course, course)
    }

    fileprivate var hasPosition: Bool { latitude != nil && longitude != nil }
}

extension Recording {
    /// Takes what each sample's record says about its place. An altitude belongs to the route. Without a route that
    /// counts, as in an indoor session, it is the sample's barometric altitude.
    mutating func take(_ places: [Location?]) {
        let positions = places.compactMap { $0?.hasPosition == true ? $0 : nil }
        guard positions.isEmpty || environment == .indoor else {
            locations = places.compactMap(\.self)
            return
        }
        locations = positions
        for (index, place) in zip(samples.indices, places) {
            guard let place, samples[index][.barometricAltitude] == nil else { continue }
            samples[index].set(.barometricAltitude, place.altitude)
        }
    }
}

extension Activity {
    /// Files count strides, which are two steps; items count steps.
    var cadenceFactor: Double { countsStrides ? 2 : 1 }

    /// A cadence as files count it, per minute.
    func cadenceInFiles(_ cadence: Double?) -> Double? { cadence.map { $0 / cadenceFactor } }
}

extension Double {
    /// A plausible measurement: not negative, and far below where sums stop being exact.
    init?(measured text: String) {
        guard let value = Double(text), (0...1e9).contains(value) else { return nil }
        self = value
    }
}
