/// The distance and what depends on it. The route provides distance, speed and splits as long as no device measures the
/// distance.
extension LiveMetrics {
    /// Metres that a route may have.
    private static let distances = 0.0...1e9
    /// Seconds of a measured speed that count as distance, at most.
    private static let longestSpeed = 3.0
    /// Microseconds behind the samples after which the speed along the route no longer counts for the energy.
    private static let routeDelay: Int64 = 240_000_000

    /// Whether distance, speeds, splits, laps and estimated energy come from the route. `route` has one distance a second
    /// and no past, so they are close to the summary's and not equal, even while ``isExact``.
    package var usesRoute: Bool { !distances.measured.isKnown && distances.route.isKnown }

    mutating func keepRoute(of other: LiveMetrics) {
        route = other.route
        routeTime = other.routeTime
        distances.route = other.distances.route
        distances.route.change(splitLength: rules.units.splitLength)
        for end in lapEnds.dropFirst(other.lapEnds.count) { distances.route.addLapEnd(end) }
    }

    /// Takes newer totals of the route. Returns whether more than the speed has changed.
    ///
    /// - Parameter now: the service's clock, which detects a device clock that is ahead.
    @discardableResult
    package mutating func receive(
        _ progress: RouteProgress, segments: [Segment], now: Timestamp = Timestamp(microseconds: .max / 2)
    ) -> Bool {
        guard progress.revision > route?.revision ?? .min else { return false }
        var same = progress
        same.revision = route?.revision ?? 0
        same.speed = route?.speed
        same.grade = route?.grade
        let isNews = same != route
        let isFirst = route == nil
        route = progress
        guard let newest = progress.newest else { return isNews }
        let horizon = (now + Self.clockTolerance).microseconds
        let isAhead = newest.microseconds > horizon && newestTime <= horizon && newestTime > .min
        routeTime = isAhead ? .min : newest.microseconds
        if let metres = progress.distance, Self.distances.contains(metres), !isAhead {
            extend(to: metres, at: routeTime, segments, isFirst: isFirst)
        }
        if !isAhead, segments.segment(containing: newest) != nil { refreshDisplay(segments) }
        return isNews
    }

    private mutating func extend(to metres: Double, at moment: Int64, _ segments: [Segment], isFirst: Bool) {
        let position = segments.activeMicroseconds(from: .min, to: moment)
        let added = metres - (distances.route.isKnown ? distances.route.sum : 0)
        guard added >= 0, moment >= distances.route.time else {
            return distances.route.correct(to: metres, at: moment, position)
        }
        if !distances.measured.isKnown {
            // The energy has the distance of another source.
            if isFirst, distances.pool.isKnown || distances.speed.isKnown { isExact = false }
            addRouteEnergy(added, from: distances.route.position, to: position)
        }
        let heart = tracks[Quantity.heartRate.rawValue]
        distances.route.add(added, at: moment, position, lapEnds: lapEnds, segments: segments) { moment, _ in
            heart.beats(at: moment)
        }
        // An earlier process announced the splits before the first message of the route.
        if isFirst { distances.route.forgetSplit() }
    }

    /// Adds the route until now to the energy, at its average speed.
    mutating func addRouteEnergy(_ segments: [Segment]) {
        guard distances.route.isKnown else { return }
        let position = segments.activeMicroseconds(from: .min, to: distances.route.time)
        energyFold.addMeters(distances.route.sum, from: 0, to: position)
        isRouteInEnergy = true
    }

    private mutating func addRouteEnergy(_ metres: Double, from start: Int64, to end: Int64) {
        let samples = tracks.known.reduce(0) { max($0, $1.position) }
        guard end >= samples - Self.routeDelay else { return }
        energyFold.addMeters(metres, from: start, to: end)
        if let grade = route?.grade, climbSegment == .min {
            energyFold.addClimb(grade * metres, from: start, to: end)
        }
        settleEnergy(before: end)
        isRouteInEnergy = true
    }

    /// Moves on by a reading that counts: distance, climb and energy. Returns whether readings of the quantity do that.
    ///
    /// - Parameter beats: the beats up to a moment and the active microseconds before it.
    mutating func cover(
        _ value: Double, of quantity: Quantity, at moment: (time: Int64, position: Int64, segment: Int64),
        _ segments: [Segment], beats: (_ moment: Int64, _ position: Int64) -> Beats
    ) -> Bool {
        switch quantity {
        case .distance:
            let hasOther = distances.pool.isKnown || distances.speed.isKnown
            if isRouteInEnergy || hasOther && !distances.measured.isKnown { isExact = false }
            energyFold.addMeters(value, from: distances.measured.position, to: moment.position)
            distances.measured.add(
                value, at: moment.time, moment.position, lapEnds: lapEnds, segments: segments, beats: beats)
        case .poolLengths:
            guard let length = rules.poolLength, !distances.measured.isKnown else { return false }
            if !distances.route.isKnown {
                if distances.speed.isKnown, !distances.pool.isKnown { isExact = false }
                energyFold.addMeters(value * length, from: distances.pool.position, to: moment.position)
            }
            distances.pool.add(
                value * length, at: moment.time, moment.position, lapEnds: lapEnds, segments: segments, beats: beats)
        case .speed:
            guard !distances.measured.isKnown else { return false }
            let before = distances.speed.isKnown ? distances.speed.position : moment.position
            let metres = value * min(Self.longestSpeed, Double(moment.position - before) / 1e6)
            if !distances.route.isKnown, !distances.pool.isKnown {
                energyFold.addMeters(metres, from: distances.speed.position, to: moment.position)
            }
            distances.speed.add(
                metres, at: moment.time, moment.position, lapEnds: lapEnds, segments: segments, beats: beats)
        case .activeEnergy: energyFold.addMeasuredEnergy(value, at: moment.position)
        case .barometricAltitude:
            if climbSegment != moment.segment {
                climb.startLine()
                smoothedAltitude.startLine()
            }
            climbSegment = moment.segment
            var added = 0.0
            climb.add(value, at: moment.position) { added += $0.ascent }
            ascent += added
            let rise = smoothedAltitude.add(value, at: moment.time)
            energyFold.addClimb(rise, from: climbPosition, to: moment.position)
            climbPosition = moment.position
        default: return false
        }
        return true
    }
}

extension Quantity {
    /// Whether it gives distance, climb or energy.
    var isCovered: Bool {
        switch self {
        case .distance, .activeEnergy, .speed, .barometricAltitude, .poolLengths: true
        default: false
        }
    }
}
