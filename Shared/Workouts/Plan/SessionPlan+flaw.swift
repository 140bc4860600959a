import Foundation

extension SessionPlan {
    /// Why nothing could be computed of it, as a payload may bring it; `nil` when it can.
    var flaw: String? {
        guard (1...PlanLimits.sections).contains(blocks.count) else { return "1 to \(PlanLimits.sections)" }
        let items = blocks.flatMap(\.items)
        guard items.count <= PlanLimits.items else { return "more than \(PlanLimits.items) items" }
        guard Set(items.map(\.id)).count == items.count else { return "two items of one name" }
        for block in blocks {
            if let flaw = block.timer.flaw { return "timer.\(flaw)" }
            if block.items.isEmpty { return "a block without items" }
            if let flaw = block.items.lazy.compactMap({ $0.flaw(isPaced: block.timer.isPaced) }).first { return flaw }
        }
        return nil
    }

    /// Why there is too much of it; `nil` when there is not.
    var sizeFlaw: String? {
        let sets = blocks.reduce(0) { count, block in
            let once = block.timer.isPaced ? 1 : block.items.reduce(0) { $0 + $1.mostSets }
            return count + once * (block.timer.plannedRounds ?? 1)
        }
        if sets > PlanLimits.sets { return "more than \(PlanLimits.sets) sets in all rounds" }
        return size > PlanLimits.bytes ? "more than \(PlanLimits.bytes / 1_024) KiB" : nil
    }

    /// Bytes of it as it is published; numbers that JSON cannot tell were refused before.
    private var size: Int { (try? JSONEncoder().encode(self).count) ?? .max }
}

extension SessionPlan.Item {
    /// How many exercises there may be, those of a coach among them.
    static let exerciseLimit = 2 * PlanLimits.alternatives + 1

    /// How many sets it has with whichever of its exercises.
    fileprivate var mostSets: Int { exercises.map { $0.sets?.count ?? 1 }.max() ?? 1 }

    fileprivate func flaw(isPaced: Bool) -> String? {
        guard (1...Self.exerciseLimit).contains(exercises.count) else { return "exercises: 1 to \(Self.exerciseLimit)" }
        guard exercises.indices.contains(chosen) else { return "chosen: none of the exercises" }
        return exercises.lazy.compactMap { $0.flaw ?? $0.flaw(isPaced: isPaced) }.first
    }
}
