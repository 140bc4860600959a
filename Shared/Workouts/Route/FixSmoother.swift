/// A Kalman filter of constant velocity over the fixes of one source, with backward smoothing.
///
/// The smoother returns a fix once enough later ones are known, smoothed backwards from them (Rauch, Tung and
/// Striebel). Without smoothing the filter overshoots every corner. After a long gap the filter starts again.
struct FixSmoother: Sendable {
    /// The rate at which speed and direction change, m²/s³ for each m/s of the usual speed.
    private static let agility = 0.25
    /// The standard deviation in metres along each axis of a fix without accuracy.
    private static let usualNoise = 2.0
    /// Accuracy is the radius that contains 68 % of the fixes: one and a half standard deviations.
    private static let radii = 1.5
    /// The number of fixes that estimate the noise. Only fixes in quick succession separate noise from motion.
    private static let memory = 32.0
    private static let interval = 2.5
    /// After this many microseconds without a fix, the velocity before is meaningless.
    private static let gap: Int64 = 10_000_000
    /// The number of later fixes that smoothing needs, and the number that is returned at once.
    private static let lag = 16

    /// The smoothed position and velocity.
    struct Smoothed: Sendable {
        let fix: Fix
        var place: Coordinate
        /// m/s northwards and eastwards.
        var velocity: (north: Double, east: Double)
        /// The variance of the fix along each axis, in square metres.
        let variance: Double
    }

    private struct State: Sendable {
        var smoothed: Smoothed
        let shrinkage: Double
        /// Covariance of position and velocity, equal along both axes.
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

    private let usualSpeed: Double
    private let agility: Double
    private var states: [State] = []
    /// The observed noise: the mean square along each axis that motion does not explain.
    private var observed = 0.0

    init(usualSpeed: Double) {
        self.usualSpeed = usualSpeed
        agility = Self.agility * usualSpeed
    }

    /// Adds the next fix, and appends those with enough later fixes.
    mutating func add(_ fix: Fix, giving given: inout [Smoothed]) {
        if let last = states.last, !fix.startsLine, fix.time - last.smoothed.fix.time <= Self.gap {
            states.append(update(last, by: fix))
            if states.count == 2 * Self.lag { give(Self.lag, &given) }
        } else {
            finish(giving: &given)
            states.append(first(fix))
        }
    }

    /// Appends all remaining fixes at the end of the stream.
    mutating func finish(giving given: inout [Smoothed]) {
        give(states.count, &given)
    }

    private static func variance(_ fix: Fix) -> Double {
        let noise = fix.accuracy.isNaN ? usualNoise : max(usualNoise, fix.accuracy / radii)
        return noise * noise
    }

    private func first(_ fix: Fix) -> State {
        let spread = usualSpeed / 3
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

    /// Smooths backwards from the newest and appends the oldest.
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
        // The rows of the gain: the corrections of position and velocity by the differences of both.
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
