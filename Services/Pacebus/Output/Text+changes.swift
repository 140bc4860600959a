import Client
import ServiceKit
import Workouts

/// The text of changes of a planned workout.
extension Text {
    /// Each difference between two states: `Goblet Squat instead of Back Squat`.
    static func changes(_ before: PlanState, _ after: PlanState) -> [String] {
        let (old, new) = (before.progress.progress, after.progress.progress)
        var changes: [String] = []
        for block in after.plan.blocks {
            for item in block.items {
                guard let known = before.plan.item(item.id) else { continue }
                let name = item.exercise.name
                if name != known.exercise.name { changes.append("\(name) instead of \(known.exercise.name)") }
                let loads = loads(known, item)
                if !loads.isEmpty { changes.append("\(name): \(loads.joined(separator: ", "))") }
                changes += sets(known, item, of: block, old.completed[item.id] ?? [], new.completed[item.id] ?? [])
                switch (old.skipped.contains(item.id), new.skipped.contains(item.id)) {
                case (false, true): changes.append("\(name) is skipped")
                case (true, false): changes.append("\(name) is no longer skipped")
                case (true, true), (false, false): break
                }
                if !old.painFlagged.contains(item.id), new.painFlagged.contains(item.id) {
                    changes.append("pain noted for \(name)")
                }
            }
        }
        if old.presentationMode != new.presentationMode {
            let mode = new.presentationMode
            let text = mode == .list ? "all exercises" : "one exercise at a time"
            changes.append("shown as \(mode.rawValue), \(text)")
        }
        return changes
    }

    /// `7 × 36 kg instead of 8 × 40 kg`, for sets of the same exercise.
    private static func loads(_ before: SessionPlan.Item, _ after: SessionPlan.Item) -> [String] {
        guard before.exercise.name == after.exercise.name else { return [] }
        return zip(before.sets, after.sets).compactMap { old, new in
            guard old != new, let text = set(new) else { return nil }
            return set(old).map { "\(text) instead of \($0)" } ?? text
        }.uniqued()
    }

    /// `Back Squat, set 1 done, 8 × 40 kg`, or `Back Squat, set 1 undone`.
    private static func sets(
        _ known: SessionPlan.Item, _ item: SessionPlan.Item, of block: SessionPlan.Block, _ before: [CompletedSet],
        _ after: [CompletedSet]
    ) -> [String] {
        func name(_ done: CompletedSet, _ item: SessionPlan.Item) -> String {
            let exercise = item.exercises[done.exercise ?? 0].name
            let round = block.timer.plannedRounds == 1 ? nil : "round \(done.round)"
            let set = item.sets.count == 1 ? nil : "set \(done.set + 1)"
            return [exercise, round, set].compactMap(\.self).joined(separator: ", ")
        }
        let done = after.filter { !before.contains($0) }.map { done in
            let what = set(PlannedSet(repetitions: done.repetitions, weight: done.weight, time: done.time))
            return ["\(name(done, item)) done", what].compactMap(\.self).joined(separator: ", ")
        }
        let undone = before.filter { set in !after.contains { ($0.round, $0.set) == (set.round, set.set) } }
        return done + undone.map { "\(name($0, known)) undone" }
    }
}
