/// A Kalman filter of constant velocity over the fixes of one source, smoothed by those that follow.
///
/// A fix is given out when enough others have come after it, that is to say smoothed backwards from them (Rauch, Tung and
/// Striebel) as if all were known. Without that a filter shoots beyond every corner. A long gap begins anew.
struct FixSmoother: Sendable {
    /// How fast somebody changes speed and direction, m²/s³ for each m/s of the activity's limit.
    private static let agility = 0.25
    /// Metres, as the standard deviation along each axis, when a fix does not tell its accuracy.
    private static let usualNoise = 2.0
    /// An accuracy is the radius that holds 68 % of the fixes: one and a half standard deviations.
    private static let radii = 1.5
    /// How many fixes say what the noise is; only those that follow soon tell it from motion.
    private static let memory = 32.0
    private static let interval = 2.5
    /// Microseconds without a fix after which the velocity from before says nothing.
    private static let gap: Int64 = 10_000_000
    /// How many fixes have to follow, and are given out at once.
    private static let lag = 16

    /// Where somebody was, and how fast.
    struct Smoothed: Sendable {
        let fix: Fix
        var place: Coordinate
        /// m/s northwards and eastwards.
        var velocity: (north: Double, east: Double)
        /// Square metres along each axis: the noise of the fix.
        let variance: Double
    }

    private struct State: Sendable {
        var smoothed: Smoothed
        let shrinkage: Double
        /// Of place and velocity, the same along both axes.
        var covariance: Covariance
    }

    private struct Covariance: Sendable {
        var place: Double
        var mixed: Double
        var velocity: Double

        func predicted(after seconds: Double, agility: Double) -> Covariance {
            let noise = agility * seconds
            return Covariance(
                place: place + seconds * (2 * mixed + seconds * velocity) + noise * seconds * seconds / 3,
                mixed: mixed + seconds * velocity + noise * seconds / 2, velocity: velocity + noise)
        }
    }

    private let speedLimit: Double
    private let agility: Double
    private var states: [State] = []
    /// What the fixes themselves say of their noise: the mean square along each axis, as far as motion does not explain it.
    private var observed = 0.0

    init(speedLimit: Double) {
        self.speedLimit = speedLimit
        agility = Self.agility * speedLimit
    }

    /// Takes the next fix; appends those that enough others have followed.
    mutating func add(_ fix: Fix, giving given: inout [Smoothed]) {
        if let last = states.last, !fix.startsLine, fix.time - last.smoothed.fix.time <= Self.gap {
            states.append(update(last, by: fix))
            if states.count == 2 * Self.lag { give(Self.lag, &given) }
        } else {
            finish(giving: &given)
            states.append(first(fix))
        }
    }

    /// Gives out all there are: nothing follows.
    mutating func finish(giving given: inout [Smoothed]) {
        give(states.count, &given)
    }

    private static func variance(_ fix: Fix) -> Double {
        let noise = fix.accuracy.isNaN ? usualNoise : max(usualNoise, fix.accuracy / radii)
        return noise * noise
    }

    private func first(_ fix: Fix) -> State {
        let spread = speedLimit / 3
        return State(
            smoothed: Smoothed(
                fix: fix, place: Coordinate(latitude: fix.latitude, longitude: fix.longitude), velocity: (0, 0),
                variance: Self.variance(fix)),
            shrinkage: Coordinate.shrinkage(latitude: fix.latitude),
            covariance: Covariance(place: Self.variance(fix), mixed: 0, velocity: spread * spread))
    }

    private static func predicted(_ state: State, after seconds: Double) -> Coordinate {
        let smoothed = state.smoothed
        return Coordinate(
            latitude: smoothed.place.latitude + smoothed.velocity.north * seconds / Coordinate.degree,
            longitude: smoothed.place.longitude + smoothed.velocity.east * seconds
                / (Coordinate.degree * state.shrinkage))
    }

    private mutating func update(_ last: State, by fix: Fix) -> State {
        let seconds = Double(fix.time - last.smoothed.fix.time) / 1e6
        var place = Self.predicted(last, after: seconds)
        let covariance = last.covariance.predicted(after: seconds, agility: agility)
        let shrinkage = Coordinate.shrinkage(latitude: fix.latitude)
        let north = (fix.latitude - place.latitude) * Coordinate.degree
        let east = longitudeDifference(place.longitude, fix.longitude) * Coordinate.degree * shrinkage
        if seconds < Self.interval {
            let surprise = (north * north + east * east) / 2 - covariance.place
            observed = max(0, observed + (surprise - observed) / Self.memory)
        }
        let variance = max(Self.variance(fix), observed)
        let gain = covariance.place / (covariance.place + variance)
        let velocityGain = covariance.mixed / (covariance.place + variance)
        place.latitude += gain * north / Coordinate.degree
        place.longitude += gain * east / (Coordinate.degree * shrinkage)
        return State(
            smoothed: Smoothed(
                fix: fix, place: place,
                velocity: (
                    last.smoothed.velocity.north + velocityGain * north,
                    last.smoothed.velocity.east + velocityGain * east
                ), variance: variance),
            shrinkage: shrinkage,
            covariance: Covariance(
                place: covariance.place * (1 - gain), mixed: covariance.mixed * (1 - gain),
                velocity: covariance.velocity - velocityGain * covariance.mixed))
    }

    /// Smooths from the newest back, and gives out the oldest.
    private mutating func give(_ count: Int, _ given: inout [Smoothed]) {
        guard count > 0 else { return }
        let first = given.count
        given.append(contentsOf: repeatElement(states[0].smoothed, count: count))
        var next = states[states.count - 1].smoothed
        if count == states.count { given[first + count - 1] = next }
        for index in states.indices.dropLast().reversed() {
            next = smoothed(states[index], by: next)
            if index < count { given[first + index] = next }
        }
        states.removeFirst(count)
    }

    private func smoothed(_ state: State, by next: Smoothed) -> Smoothed {
        let seconds = Double(next.fix.time - state.smoothed.fix.time) / 1e6
        let old = state.covariance
        let new = old.predicted(after: seconds, agility: agility)
        let expected = Self.predicted(state, after: seconds)
        let scale = Coordinate.degree * state.shrinkage
        let north = (next.place.latitude - expected.latitude) * Coordinate.degree
        let east = longitudeDifference(expected.longitude, next.place.longitude) * scale
        let northward = next.velocity.north - state.smoothed.velocity.north
        let eastward = next.velocity.east - state.smoothed.velocity.east
        let determinant = new.place * new.velocity - new.mixed * new.mixed
        // Rows of the gain: what place and velocity take over of the difference in place and in velocity.
        let place = old.place + seconds * old.mixed
        let mixed = old.mixed + seconds * old.velocity
        let gains = (
            (place * new.velocity - old.mixed * new.mixed) / determinant,
            (old.mixed * new.place - place * new.mixed) / determinant,
            (mixed * new.velocity - old.velocity * new.mixed) / determinant,
            (old.velocity * new.place - mixed * new.mixed) / determinant
        )
        var smoothed = state.smoothed
        smoothed.place.latitude += (gains.0 * north + gains.1 * northward) / Coordinate.degree
        smoothed.place.longitude += (gains.0 * east + gains.1 * eastward) / scale
        smoothed.velocity.north += gains.2 * north + gains.3 * northward
        smoothed.velocity.east += gains.2 * east + gains.3 * eastward
        return smoothed
    }
}
