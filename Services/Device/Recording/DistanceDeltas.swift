import Workouts

/// Turns a recorded distance, which grows from record to record, into the metres of each item.
struct DistanceDeltas {
    /// The distance that is counted so far.
    private var counted: Double

    init(base: Double) {
        counted = base
    }

    /// The metres to send for a record inside a segment.
    ///
    /// A distance that goes back counts nothing until it is beyond what was counted. More than an item may carry is left
    /// for those that follow.
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
