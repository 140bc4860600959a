/// Chooses the fixes of one source that form a possible path. Fixes arrive sorted by time.
///
/// Two fixes connect if the speed between them is possible, directly and over the seconds before, and if it does not
/// change faster than people and their vehicles do. The activity's name is no criterion. The chain with the most fixes
/// counts: a consistent group wins over a single fix, wherever that lies. A jump costs as much as ten
/// fixes, so a chain moves elsewhere only where it stays.
///
/// A fix is settled once it is far enough behind the newest: later fixes no longer decide whether it counts.
struct FixChain: Sendable {
    /// The worth of a fix, the cost of a jump, and the cost of a jump during a pause.
    private static let worth: Int32 = 2
    private static let jumpCost: Int32 = 20
    private static let pauseCost: Int32 = 3
    /// The maximum number of pending fixes, and the number that is settled at once when it is reached.
    private static let capacity = 32
    private static let step = 16
    /// Two fixes may be this many metres apart at any time difference; less accurate ones more.
    private static let slack = 30.0
    /// The span in microseconds over which average speed is checked.
    private static let baseline: Int64 = 15_000_000
    /// The maximum speed in m/s, and its maximum change in m/s².
    static let speedLimit = 60.0
    private static let accelerationLimit = 12.0

    private struct Node: Sendable {
        var fix: Fix
        let shrinkage: Double
        var score: Int32
        /// The index of the previous node; −1 for the first of a chain.
        var parent: Int
        /// A node of the same line at most the baseline before this one.
        var anchor: (time: Int64, latitude: Double, longitude: Double)
        /// The seconds since the previous node of the same line, and the degrees per second from there; 0 seconds
        /// without one.
        var leg = 0.0
        var velocity = (latitude: 0.0, longitude: 0.0)
    }

    /// The newest settled node, if there is one, then the pending ones.
    private var nodes: [Node] = []
    private var hasSettled = false
    /// The index of the end of the best chain; −1 if there is none.
    private var best = -1

    /// The newest fix of the best chain so far.
    var tip: Fix? { best < 0 ? nil : nodes[best].fix }

    /// Adds a fix that is not earlier than those before, and appends the fixes that it settles.
    mutating func add(_ fix: Fix, settling settled: inout [Fix]) {
        guard let node = node(for: fix) else { return }
        nodes.append(node)
        if best < 0 || node.score >= nodes[best].score { best = nodes.count - 1 }
        if nodes.count - firstWaiting == Self.capacity { settle(Self.step, &settled) }
    }

    /// Settles all pending fixes at the end of the stream.
    mutating func finish(settling settled: inout [Fix]) {
        settle(nodes.count - firstWaiting, &settled)
    }

    private var firstWaiting: Int { hasSettled ? 1 : 0 }

    /// Appends the fix to the best chain it fits; `nil` if no chain from the settled node leads to it.
    private func node(for fix: Fix) -> Node? {
        var node = Node(
            fix: fix, shrinkage: Coordinate.shrinkage(latitude: fix.latitude), score: Self.worth, parent: -1,
            anchor: (fix.time, fix.latitude, fix.longitude))
        var isPossible = false
        if best >= 0, leads(from: nodes[best], to: fix) {
            node.parent = best
            node.score = nodes[best].score + Self.worth
            isPossible = true
        } else {
            for index in nodes.indices.reversed() where nodes[index].fix.time < fix.time {
                let leads = leads(from: nodes[index], to: fix)
                let cost = leads ? 0 : nodes[index].fix.segment == fix.segment ? Self.jumpCost : Self.pauseCost
                let score = nodes[index].score + Self.worth - cost
                let isFirst = node.parent < 0 && hasSettled
                if isFirst || score > node.score || score == node.score && leads && !isPossible {
                    node.parent = index
                    node.score = score
                    isPossible = leads
                }
            }
        }
        guard node.parent >= 0 else {
            node.fix.startsLine = true
            return hasSettled ? nil : node
        }
        let parent = nodes[node.parent]
        node.fix.startsLine = !isPossible || parent.fix.segment != fix.segment
        if !node.fix.startsLine {
            let isFresh = fix.time - parent.anchor.time <= Self.baseline
            node.anchor = isFresh ? parent.anchor : (parent.fix.time, parent.fix.latitude, parent.fix.longitude)
            node.leg = Double(fix.time - parent.fix.time) / 1e6
            node.velocity = (
                (fix.latitude - parent.fix.latitude) / node.leg,
                longitudeDifference(parent.fix.longitude, fix.longitude) / node.leg
            )
        }
        return node
    }

    /// Whether the speed from a node to a fix is possible.
    private func leads(from node: Node, to fix: Fix) -> Bool {
        guard node.fix.time < fix.time else { return false }
        var slack = Self.slack
        let accuracies = node.fix.accuracy + fix.accuracy
        if accuracies > slack { slack = accuracies }
        func isWithin(_ meters: Double, _ latitude: Double, _ longitude: Double) -> Bool {
            let reach = meters / Coordinate.degree
            let north = fix.latitude - latitude
            let east = longitudeDifference(longitude, fix.longitude) * node.shrinkage
            return north * north + east * east <= reach * reach
        }
        let seconds = Double(fix.time - node.fix.time) / 1e6
        guard isWithin(Self.speedLimit * seconds + slack, node.fix.latitude, node.fix.longitude) else { return false }
        guard node.fix.segment == fix.segment else { return true }
        let since = Double(fix.time - node.anchor.time) / 1e6
        guard isWithin(Self.speedLimit * since + slack, node.anchor.latitude, node.anchor.longitude) else {
            return false
        }
        guard node.leg > 0 else { return true }
        // Errors of both ends of the leg before add to the place that its velocity leads to.
        return isWithin(
            Self.accelerationLimit * seconds * (seconds + node.leg) / 2 + slack * (1 + seconds / node.leg),
            node.fix.latitude + node.velocity.latitude * seconds,
            node.fix.longitude + node.velocity.longitude * seconds)
    }

    /// Settles the oldest pending fixes by the best chain, and drops chains that do not continue from it.
    private mutating func settle(_ count: Int, _ settled: inout [Fix]) {
        let end = firstWaiting + count
        var chain: UInt64 = 0
        var index = best
        while index >= 0 {
            chain |= 1 << UInt64(index)
            index = nodes[index].parent
        }
        var last = hasSettled ? 0 : -1
        for index in firstWaiting..<end where chain & 1 << UInt64(index) != 0 {
            settled.append(nodes[index].fix)
            last = index
        }
        var places = [Int](repeating: -1, count: nodes.count)
        var kept = 0
        if last >= 0 {
            places[last] = 0
            nodes[0] = nodes[last]
            nodes[0].parent = -1
            kept = 1
        }
        for index in end..<max(end, nodes.count) {
            let parent = nodes[index].parent
            let place = parent < 0 ? -1 : places[parent]
            guard place >= 0 || parent < 0 && last < 0 else { continue }
            places[index] = kept
            nodes[kept] = nodes[index]
            nodes[kept].parent = place
            kept += 1
        }
        best = best < 0 ? -1 : places[best]
        hasSettled = last >= 0
        nodes.removeLast(nodes.count - kept)
    }
}
