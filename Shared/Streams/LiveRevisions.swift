import ServiceKit
import Workouts

/// The revisions of live messages by shard, which rise across restarts and changes of owner; see ``RevisionCeiling``.
struct LiveRevisions {
    private struct Line {
        /// The highest revision that an earlier owner may have published. Ours start above it.
        var floor: Int64 = 0
        /// What the store has.
        var ceiling: Int64?
        /// At least the highest of ours.
        var latest: Int64?
        /// The time of the shard's last commit. Since then another process may own it.
        var confirmedAt: Moment?
    }

    private var lines: [Shard: Line] = [:]

    var isEmpty: Bool { lines.isEmpty }

    func floor(_ shard: Shard) -> Int64 { lines[shard]?.floor ?? 0 }

    /// Loads the ceiling of an earlier owner.
    mutating func load(_ ceiling: Int64, of shard: Shard) { lines[shard, default: Line()].floor = ceiling }

    /// The ceilings to store before live messages of some shards go out: those that do not suffice, and those of shards whose last
    /// commit is too old to show that this process still owns them.
    func due(_ shards: Set<Shard>, _ now: Moment) -> [Shard: Int64] {
        var due: [Shard: Int64] = [:]
        for shard in shards {
            let line = lines[shard] ?? Line()
            let ceiling = line.ceiling ?? line.floor
            let next = RevisionCeiling.due(ceiling, latest: line.latest ?? line.floor, now: now.wallClock)
            let isConfirmed = line.confirmedAt.map { now.seconds(since: $0) <= StreamTimes.confirmation } ?? false
            if next != nil || !isConfirmed { due[shard] = next ?? ceiling }
        }
        return due
    }

    mutating func stored(_ ceilings: [Shard: Int64]) {
        for (shard, ceiling) in ceilings { lines[shard, default: Line()].ceiling = ceiling }
    }

    mutating func committed(_ shards: Set<Shard>, _ now: Moment) {
        for shard in shards { lines[shard, default: Line()].confirmedAt = now }
    }

    /// Live messages of a shard go out; of each session at most one of a kind.
    mutating func published(_ shard: Shard, _ now: Moment) {
        var line = lines[shard] ?? Line()
        line.latest = max(now.wallClock.milliseconds, (line.latest ?? line.floor) + 1)
        lines[shard] = line
    }

    /// The seconds by which the highest revision is ahead of the clock.
    func lead(at now: Timestamp) -> Double {
        lines.values.compactMap(\.latest).max().map { RevisionCeiling.lead(of: $0, at: now) } ?? 0
    }

    mutating func drop(_ shards: Set<Shard>) {
        for shard in shards { lines[shard] = nil }
    }
}
