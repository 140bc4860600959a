import FIT
import Workouts

extension FITExport {
    /// A field of the records, and what a point has for it.
    typealias Column = (field: FITField, value: (ExportedPoint) -> Double?)

    /// Gives the points of each second as one: of what was measured more than once the last counts, but of the heart
    /// rate the highest, so that the workout's maximum stays. Steps and energy are those since the start.
    mutating func forEachSecond(_ body: (inout FITExport, _ second: Double, ExportedPoint) -> Void) {
        var collected: (second: Double, point: ExportedPoint)?
        var (steps, energy) = (0.0, 0.0)
        for point in points {
            var point = point
            if let delta = point.steps {
                steps += delta
                point.steps = steps
            }
            if let delta = point.activeEnergy {
                energy += delta
                point.activeEnergy = energy
            }
            let second = clock[point.time]
            if let earlier = collected, earlier.second == second {
                point.add(earlier: earlier.point)
            } else if let complete = collected {
                body(&self, complete.second, complete.point)
            }
            collected = (second, point)
        }
        if let complete = collected { body(&self, complete.second, complete.point) }
    }

    /// The fields of the records: those for which any point has something.
    var recordColumns: [Column] {
        typealias Field = FITProfile.Record
        let activity = workout.activity
        var columns: [Column] = [
            (Field.latitude, \.latitude), (Field.longitude, \.longitude), (Field.gpsAccuracy, \.wholeAccuracy),
            (Field.enhancedAltitude, \.altitude), (Field.heartRate, \.heartRate),
            (Field.cadence, { activity.cadenceInFiles($0.cadence).map { Turns($0).whole } }),
            (Field.fractionalCadence, { activity.cadenceInFiles($0.cadence).map { Turns($0).fraction } }),
            (Field.distance, \.distance), (Field.enhancedSpeed, \.speed), (Field.power, \.power),
            (Field.temperature, \.temperature), (Field.calories, \.activeEnergy),
        ]
        // Elsewhere FIT counts other things than steps.
        if activity.countsStrides { columns.append((Field.cycles, { $0.steps.map { $0 / 2 } })) }
        return columns.filter { column in points.contains { column.value($0) != nil } }
    }
}

extension ExportedPoint {
    fileprivate mutating func add(earlier: ExportedPoint) {
        if let before = earlier.heartRate { heartRate = max(before, heartRate ?? before) }
        place = place ?? earlier.place
        horizontalAccuracy = horizontalAccuracy ?? earlier.horizontalAccuracy
        altitude = altitude ?? earlier.altitude
        distance = distance ?? earlier.distance
        speed = speed ?? earlier.speed
        cadence = cadence ?? earlier.cadence
        power = power ?? earlier.power
        temperature = temperature ?? earlier.temperature
        steps = steps ?? earlier.steps
        activeEnergy = activeEnergy ?? earlier.activeEnergy
    }

    var latitude: Double? { place.flatMap { abs($0.la) <= 90 && abs($0.lo) <= 180 ? $0.la : nil } }

    /// The half turn east is the half turn west, which alone FIT can tell.
    var longitude: Double? { latitude == nil ? nil : place.map { $0.lo > 180 - 2e-7 ? -180 : $0.lo } }

    /// Whole metres, downwards: a place that was taken for its accuracy is taken again.
    fileprivate var wholeAccuracy: Double? { horizontalAccuracy?.rounded(.down) }
}

/// A cadence as FIT has it: whole turns a minute, and the rest in 128ths by itself.
struct Turns {
    private static let limit = 254.0

    let whole: Double
    let fraction: Double

    init(_ turns: Double) {
        let rounded = (turns * 128).rounded() / 128
        whole = min(rounded.rounded(.down), Self.limit)
        fraction = rounded < Self.limit + 1 ? rounded - whole : 0
    }
}
