/// The route of one source: filters its fixes and computes distance and climb.
struct SourceRoute: Sendable {
    /// The shortest leg that counts as distance, so that noise at rest does not add up: a multiple of the noise, and
    /// its limits in metres.
    private static let legForNoise = 2.5
    private static let leg = 5.0...20.0
    /// After this many microseconds without a whole leg the device is at rest, and the next leg must be twice as long.
    private static let rest: Int64 = 30_000_000
    /// The span in microseconds for a computed speed: at least this, at most twice as much.
    private static let speedSpan: Int64 = 5_000_000

    private let speedLimit: Double
    private var chain: FixChain
    private var smoother: FixSmoother
    private var climb = Climb()
    /// The end of the last whole leg, its time, and the counted part of the next leg.
    private var corner = Coordinate(latitude: 0, longitude: 0)
    private var cornerTime: Int64 = 0
    private var partial = 0.0
    /// The start of the current span for speed, and of the next one.
    private var milestones = (now: Milestone(), next: Milestone())
    /// The totals of all accepted fixes.
    private(set) var totals = RouteTotals()
    /// The time of the newest added fix.
    private(set) var newest = Int64.min
    /// Buffers between the stages, kept to avoid an allocation per fix.
    private var settled: [Fix] = []
    private var smoothed: [FixSmoother.Smoothed] = []

    init(_ activity: Activity) {
        speedLimit = activity.speedLimit
        chain = FixChain(speedLimit: speedLimit)
        smoother = FixSmoother(speedLimit: speedLimit)
    }

    /// The newest accepted fix so far.
    var tip: Fix? { chain.tip }

    /// Adds a fix that is not earlier than ``newest``, and appends the fixes that are now complete.
    mutating func add(_ fix: Fix, accepting accepted: inout [AcceptedFix]) {
        newest = fix.time
        chain.add(fix, settling: &settled)
        guard !settled.isEmpty else { return }
        pass(&accepted)
    }

    /// Appends all pending fixes at the end of the stream.
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
            // Both speeds have the activity's limit; `nan` fails the comparison too.
            if !(fix.speed <= speedLimit) { fix.speed = speed <= speedLimit ? speed : .nan }
            accepted.append(fix)
        }
        smoothed.removeAll(keepingCapacity: true)
    }

    /// The distance that a position adds: along whole legs, and along the current leg so far.
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

    /// The speed of the last seconds; `nan` at the start of a line.
    private mutating func speed(at fix: Fix) -> Double {
        let here = Milestone(time: fix.time, distance: totals.distance)
        if fix.startsLine { milestones = (here, here) }
        if here.time - milestones.next.time >= Self.speedSpan { milestones = (milestones.next, here) }
        let seconds = Double(here.time - milestones.now.time) / 1e6
        return seconds > 0 ? (here.distance - milestones.now.distance) / seconds : .nan
    }
}

/// A moment on the route and the metres up to it.
private struct Milestone {
    var time: Int64 = 0
    var distance = 0.0
}

/// The filtered fixes of one source.
struct SourceFixes: Sendable {
    let device: Device
    var route: SourceRoute
    /// All accepted fixes, sorted by time.
    var accepted: [AcceptedFix] = []
    /// Fixes up to this time are final.
    let settledTime: Int64

    /// - Parameter segments: fixes outside are left out.
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
