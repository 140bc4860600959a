package import Storage
package import Workouts

/// Shards, written as hex pairs, ranges and lists: `00-3f,80`; or `auto`, what the service shares with its replicas.
package struct ShardSelection: Hashable, Sendable, CustomStringConvertible {
    package let shards: Set<Shard>
    /// Whether replicas share the shards. SQLite has one replica, which owns all.
    private var isAutomatic = false

    /// All shards: `00-ff`.
    package static let all = ShardSelection(members: 0...255)

    /// Returns `nil` if `text` contains anything else, or a range that runs backwards.
    package init?(_ text: String) {
        if text == "auto" {
            self = .all
            isAutomatic = true
            return
        }
        var members: Set<UInt8> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Shard($0) }
            guard ends.count <= 2, let first = ends[0], let last = ends[ends.count - 1], first <= last else {
                return nil
            }
            members.formUnion(first.value...last.value)
        }
        self.init(members: members)
    }

    package init(_ shards: Set<Shard>) {
        self.shards = shards
    }

    private init(members: some Sequence<UInt8>) {
        shards = Set(members.map { Shard($0) })
    }

    /// - Parameter sharing: how replicas share the shards if the selection is automatic.
    package func plan(_ sharing: OwnershipPlan) -> OwnershipPlan { isAutomatic ? sharing : .shards(shards) }

    /// The shortest notation of these shards.
    package var description: String {
        if isAutomatic { return "auto" }
        var ranges: [ClosedRange<UInt8>] = []
        for shard in shards.sorted() {
            if let last = ranges.last, last.upperBound + 1 == shard.value {
                ranges[ranges.count - 1] = last.lowerBound...shard.value
            } else {
                ranges.append(shard.value...shard.value)
            }
        }
        return ranges.map { range in
            range.count == 1 ? "\(Shard(range.lowerBound))" : "\(Shard(range.lowerBound))-\(Shard(range.upperBound))"
        }.joined(separator: ",")
    }
}
