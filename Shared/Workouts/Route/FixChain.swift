/// Chooses among the fixes of one source, as they come in the order of time, those that make a possible way.
///
/// Two fixes belong together when the way between them takes no impossible speed, neither at once nor over the seconds
/// before. What counts is the chain with the most fixes: a group that agrees wins over a lone one, wherever that stands.
/// A jump costs as much as ten fixes, so that a chain goes on elsewhere only where it stays.
///
/// A fix is settled when it is far enough behind the newest: then it is in the chain or it is dropped, whatever follows.
struct FixChain: Sendable {
    /// What a fix is worth; what a jump, and what one during a pause costs.
    private static let worth: Int32 = 2
    private static let jumpCost: Int32 = 20
    private static let pauseCost: Int32 = 3
    /// How many fixes may wait, and how many are settled at once when it are as many.
    private static let capacity = 32
    private static let step = 16
    /// Metres that two fixes may be apart whatever the time between them, unless their accuracies allow more.
    private static let slack = 30.0
    /// Microseconds over which a speed is held against the limit.
    private static let baseline: Int64 = 15_000_000

    private struct Node: Sendable {
        var fix: Fix
        let shrinkage: Double
        var score: Int32
        /// The place of the node before it; −1 for the first of a chain.
        var parent: Int
        /// A node of its line at most the baseline before it.
        var anchor: (time: Int64, latitude: Double, longitude: Double)
    }

    private let speedLimit: Double
    /// First the newest that is settled, if there is one, then those that wait.
    private var nodes: [Node] = []
    private var hasSettled = false
    /// The end of the chain with the most fixes; −1 when there is none.
    private var best = -1

    init(speedLimit: Double) {
        self.speedLimit = speedLimit
    }

    /// The newest fix of the chain, as far as can be said.
    var tip: Fix? { best < 0 ? nil : nodes[best].fix }

    /// Takes a fix that is not earlier than those before; appends what is settled by it.
    mutating func add(_ fix: Fix, settling settled: inout [Fix]) {
        guard let node = node(for: fix) else { return }
        nodes.append(node)
        if best < 0 || node.score >= nodes[best].score { best = nodes.count - 1 }
        if nodes.count - firstWaiting == Self.capacity { settle(Self.step, &settled) }
    }

    /// Settles all that waits: nothing follows.
    mutating func finish(settling settled: inout [Fix]) {
        settle(nodes.count - firstWaiting, &settled)
    }

    private var firstWaiting: Int { hasSettled ? 1 : 0 }

    /// The fix at the end of the best chain that it can be the end of; `nil` when nothing that is settled leads to it.
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
        }
        return node
    }

    /// Whether somebody can have gone from one to the other.
    private func leads(from node: Node, to fix: Fix) -> Bool {
        guard node.fix.time < fix.time else { return false }
        var slack = Self.slack
        let accuracies = node.fix.accuracy + fix.accuracy
        if accuracies > slack { slack = accuracies }
        func isWithinReach(_ time: Int64, _ latitude: Double, _ longitude: Double) -> Bool {
            let reach = (speedLimit * Double(fix.time - time) / 1e6 + slack) / Coordinate.degree
            let north = fix.latitude - latitude
            let east = longitudeDifference(longitude, fix.longitude) * node.shrinkage
            return north * north + east * east <= reach * reach
        }
        guard isWithinReach(node.fix.time, node.fix.latitude, node.fix.longitude) else { return false }
        return node.fix.segment != fix.segment
            || isWithinReach(node.anchor.time, node.anchor.latitude, node.anchor.longitude)
    }

    /// Settles the oldest that wait, by the chain that is the best now; others that do not go on from it are given up.
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

extension Activity {
    /// What nobody exceeds, m/s: a fix that implies more is wrong. An activity of unknown kind may be as fast as any.
    var speedLimit: Double {
        switch self {
        case .walking, .hiking, .swimming: 4
        case .running, .rowing, .traditionalStrength, .functionalStrength, .hiit: 9
        case .cycling, .other: 30
        }
    }
}
