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

    /// A measured speed that differs by more m/s from the speed along the track is wrong.
    private static let speedTolerance = 12.0
    /// The maximum number of pending altitudes.
    private static let altitudeLimit = 64

    private var chain = FixChain()
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
    /// Locations with an altitude alone, later than the last accepted fix, and the segment of the last altitude.
    private var altitudes: [Fix] = []
    private var climbSegment = Int64.min
    /// The metres that the next accepted fix adds to the totals.
    private(set) var climbed = (ascent: 0.0, descent: 0.0)

    init(_ activity: Activity) {
        smoother = FixSmoother(usualSpeed: activity.usualSpeed)
    }

    /// The newest accepted fix so far.
    var tip: Fix? { chain.tip }

    /// Adds a fix that is not earlier than ``newest``, and appends the fixes that are now complete.
    mutating func add(_ fix: Fix, accepting accepted: inout [AcceptedFix]) {
        newest = fix.time
        if fix.hasPosition {
            chain.add(fix, settling: &settled)
            if !settled.isEmpty { pass(&accepted) }
        } else {
            altitudes.append(fix)
            // So many locations without a position are lost signal: the fixes before have no close successor.
            if altitudes.count == Self.altitudeLimit { acceptAll(&accepted) }
        }
    }

    /// Appends all pending fixes, and counts the pending climb, at the end of the stream.
    mutating func finish(accepting accepted: inout [AcceptedFix]) {
        acceptAll(&accepted)
        count { $0.finish(counting: $1) }
    }

    private mutating func acceptAll(_ accepted: inout [AcceptedFix]) {
        chain.finish(settling: &settled)
        for fix in settled { smoother.add(fix, giving: &smoothed) }
        settled.removeAll(keepingCapacity: true)
        smoother.finish(giving: &smoothed)
        pass(&accepted)
        climb(before: .max)
    }

    /// Takes the altitudes before a time.
    private mutating func climb(before time: Int64) {
        guard !altitudes.isEmpty else { return }
        let count = altitudes.partitioningIndex { $0.time >= time }
        for fix in altitudes[..<count] { climb(fix) }
        altitudes.removeFirst(count)
    }

    private mutating func climb(_ fix: Fix) {
        if fix.segment != climbSegment { climb.startLine() }
        climbSegment = fix.segment
        guard !fix.altitude.isNaN else { return }
        count { $0.add(fix.altitude, at: fix.time, accuracy: fix.verticalAccuracy, counting: $1) }
    }

    /// Adds the changes of the climb to the totals.
    private mutating func count(_ body: (inout Climb, (Climb.Change) -> Void) -> Void) {
        var (ascent, descent) = (0.0, 0.0)
        body(&climb) { change in
            ascent += change.ascent
            descent += change.descent
        }
        climbed.ascent += ascent
        climbed.descent += descent
        totals.ascent += ascent
        totals.descent += descent
    }

    private mutating func pass(_ accepted: inout [AcceptedFix]) {
        for fix in settled { smoother.add(fix, giving: &smoothed) }
        settled.removeAll(keepingCapacity: true)
        for position in smoothed {
            climb(before: position.fix.time)
            climb(position.fix)
            var fix = AcceptedFix(
                fix: position.fix, speed: position.fix.speed, distance: distance(to: position),
                ascent: climbed.ascent, descent: climbed.descent)
            climbed = (0, 0)
            totals.distance += fix.distance
            let speed = speed(at: fix.fix)
            let (north, east) = position.velocity
            let along = (north * north + east * east).squareRoot()
            // `nan` fails the comparison too.
            if !(abs(fix.speed - along) <= Self.speedTolerance) { fix.speed = speed }
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
    private(set) var route: SourceRoute
    /// All accepted fixes, sorted by time.
    private(set) var accepted: SourceColumns
    /// Locations with an altitude and no position, sorted by time.
    private(set) var altitudes: [(time: Timestamp, number: UInt32)] = []
    /// Fixes up to this time are final.
    private(set) var settledTime = Timestamp(microseconds: .min)

    /// - Parameter segments: fixes outside are left out.
    init(_ device: Device, _ locations: ItemSource<Location>, segments: [Segment], activity: Activity) {
        self.device = device
        route = SourceRoute(activity)
        accepted = SourceColumns(capacity: locations.count)
        var buffer: [AcceptedFix] = []
        locations.visitInOrder { number, location in
            guard let fix = Fix(location, number: number, segments: segments) else { return }
            if !fix.hasPosition { altitudes.append((Timestamp(microseconds: fix.time), UInt32(number))) }
            route.add(fix, accepting: &buffer)
            take(&buffer)
        }
        settledTime = accepted.times.last ?? settledTime
        var rest = route
        rest.finish(accepting: &buffer)
        take(&buffer)
        accepted.addToLast(ascent: rest.climbed.ascent, descent: rest.climbed.descent)
    }

    private mutating func take(_ buffer: inout [AcceptedFix]) {
        for fix in buffer { accepted.append(fix) }
        buffer.removeAll(keepingCapacity: true)
    }
}

extension ItemSource {
    /// The number of passes over items that are not in the order of time, which bounds the memory.
    private static var passes: Int { 4 }

    /// Calls `body` with each item that has a time, in the order of time and number.
    fileprivate func visitInOrder(_ body: (_ number: Int, _ item: Item) -> Void) {
        guard let ranks = ranks() else {
            var number = 0
            return visit { item in
                if item.time != nil { body(number, item) }
                number += 1
            }
        }
        let size = ranks.count / Self.passes + 1
        for first in stride(from: 0, to: ranks.count, by: size) {
            var part = [(number: Int, item: Item)?](repeating: nil, count: min(size, ranks.count - first))
            var number = 0
            visit { item in
                let rank = Int(ranks[number]) - first
                if item.time != nil, part.indices.contains(rank) { part[rank] = (number, item) }
                number += 1
            }
            for case (let number, let item)? in part { body(number, item) }
        }
    }

    /// The place of each item in the order of time and number; `nil` if that is the order of the items.
    private func ranks() -> [UInt32]? {
        var newest = Timestamp(microseconds: .min)
        var isInOrder = true
        visit { item in
            guard let time = item.time else { return }
            if time < newest { isInOrder = false }
            newest = time
        }
        guard !isInOrder else { return nil }
        var order: [(time: Timestamp, number: UInt32)] = []
        order.reserveCapacity(count)
        visit { order.append(($0.time ?? newest, UInt32(order.count))) }
        order.sort { $0 < $1 }
        var ranks = [UInt32](repeating: 0, count: order.count)
        for (rank, place) in order.enumerated() { ranks[Int(place.number)] = UInt32(rank) }
        return ranks
    }
}
