/// The way of one source, made from its fixes as they come: gate, filter, distance and climb.
struct SourceRoute: Sendable {
    /// The shortest leg of which distance is made, metres, so that noise at rest does not add up: for each metre of
    /// noise, and its limits.
    private static let legForNoise = 2.5
    private static let leg = 5.0...20.0
    /// Microseconds without a whole leg after which somebody stands still, and has to go twice as far to leave.
    private static let rest: Int64 = 30_000_000
    /// Microseconds over which a speed is taken where none is measured: at least the lesser, twice as many at most.
    private static let speedSpan: Int64 = 5_000_000

    private let speedLimit: Double
    private var chain: FixChain
    private var smoother: FixSmoother
    private var climb = Climb()
    /// The end of the last whole leg, when that was, and how much of the one that follows is counted.
    private var corner = Coordinate(latitude: 0, longitude: 0)
    private var cornerTime: Int64 = 0
    private var partial = 0.0
    /// From where speed is taken now, and from where soon.
    private var milestones = (now: Milestone(), next: Milestone())
    /// What all that was given out adds up to.
    private(set) var totals = RouteTotals()
    /// The time of the newest fix that was taken.
    private(set) var newest = Int64.min
    /// What passes from one stage to the next, kept so that it is not allocated for each fix.
    private var settled: [Fix] = []
    private var smoothed: [FixSmoother.Smoothed] = []

    init(_ activity: Activity) {
        speedLimit = activity.speedLimit
        chain = FixChain(speedLimit: speedLimit)
        smoother = FixSmoother(speedLimit: speedLimit)
    }

    /// The newest fix that is accepted, as far as can be said.
    var tip: Fix? { chain.tip }

    /// Takes a fix that is not earlier than ``newest``; appends the fixes of which now all is known.
    mutating func add(_ fix: Fix, accepting accepted: inout [AcceptedFix]) {
        newest = fix.time
        chain.add(fix, settling: &settled)
        guard !settled.isEmpty else { return }
        pass(&accepted)
    }

    /// Appends all that waits: nothing follows.
    mutating func finish(accepting accepted: inout [AcceptedFix]) {
        chain.finish(settling: &settled)
        for fix in settled { smoother.add(fix, giving: &smoothed) }
        settled.removeAll(keepingCapacity: true)
        smoother.finish(giving: &smoothed)
        pass(&accepted)
    }

    private mutating func pass(_ accepted: inout [AcceptedFix]) {
        for fix in settled { smoother.add(fix, giving: &smoothed) }
        settled.removeAll(keepingCapacity: true)
        for position in smoothed {
            let climbed = climb.add(position.fix)
            var fix = AcceptedFix(
                fix: position.fix, speed: position.fix.speed, distance: distance(to: position),
                ascent: climbed.ascent, descent: climbed.descent)
            totals.add(fix)
            let speed = speed(at: fix.fix)
            // Neither is believed beyond what is possible; `nan` compares as neither.
            if !(fix.speed <= speedLimit) { fix.speed = speed <= speedLimit ? speed : .nan }
            accepted.append(fix)
        }
        smoothed.removeAll(keepingCapacity: true)
    }

    /// What a position adds: the way along the legs, and along the one that is not yet whole as far as it has come.
    private mutating func distance(to position: FixSmoother.Smoothed) -> Double {
        guard !position.fix.startsLine else {
            turn(at: position)
            return 0
        }
        let noise = position.variance.squareRoot()
        var leg = min(max(Self.legForNoise * noise, Self.leg.lowerBound), Self.leg.upperBound)
        if position.fix.time - cornerTime > Self.rest { leg *= 2 }
        let length = corner.distance(to: position.place)
        let added = max(0, length - partial)
        if length >= leg {
            turn(at: position)
        } else {
            partial += added
        }
        return added
    }

    private mutating func turn(at position: FixSmoother.Smoothed) {
        corner = position.place
        cornerTime = position.fix.time
        partial = 0
    }

    /// The speed of the last seconds; `nan` where a line has just begun.
    private mutating func speed(at fix: Fix) -> Double {
        let here = Milestone(time: fix.time, distance: totals.distance)
        if fix.startsLine { milestones = (here, here) }
        if here.time - milestones.next.time >= Self.speedSpan { milestones = (milestones.next, here) }
        let seconds = Double(here.time - milestones.now.time) / 1e6
        return seconds > 0 ? (here.distance - milestones.now.distance) / seconds : .nan
    }
}

/// A moment on the way, and the metres up to it.
private struct Milestone {
    var time: Int64 = 0
    var distance = 0.0
}

/// All that one source tells of its way.
struct SourceFixes: Sendable {
    let device: Device
    var route: SourceRoute
    /// Every fix that is accepted, in the order of time.
    var accepted: [AcceptedFix] = []
    /// Those up to this time stay as they are, whatever follows.
    let settledTime: Int64

    /// - Parameter segments: what lies outside is left out.
    init(_ device: Device, _ locations: [Location], segments: [Segment], activity: Activity) {
        self.device = device
        route = SourceRoute(activity)
        accepted.reserveCapacity(locations.count)
        var fixes: [Fix] = []
        fixes.reserveCapacity(locations.count)
        var isSorted = true
        for (number, location) in locations.enumerated() {
            guard let fix = Fix(location, number: number, segments: segments) else { continue }
            if let last = fixes.last, fix.time < last.time { isSorted = false }
            fixes.append(fix)
        }
        if !isSorted { fixes.sort { ($0.time, $0.number) < ($1.time, $1.number) } }
        for fix in fixes { route.add(fix, accepting: &accepted) }
        settledTime = accepted.last?.fix.time ?? .min
        var rest = route
        rest.finish(accepting: &accepted)
    }
}
