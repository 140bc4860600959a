import Bus
import Client
import Foundation
import Workouts

/// The text of planned workouts. Sets and rounds count from 1.
extension Text {
    /// `8 × 62.5 kg`, `12 repetitions`, `24 kg, 0:40`; `nil` if the plan prescribes nothing.
    static func set(_ set: PlannedSet) -> String? {
        let weight = set.weight.flatMap { $0 > 0 ? String(format: "%g kg", $0) : nil }
        let load =
            switch (set.repetitions, weight) {
            case (let repetitions?, let weight?): "\(repetitions) × \(weight)"
            case (let repetitions?, nil): "\(repetitions) repetition\(repetitions == 1 ? "" : "s")"
            case (nil, let weight): weight
            }
        let parts = [load, set.time.map(duration)].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// The current exercise: `Bench Press, set 2 of 5, 8 × 62.5 kg`; `next Row` in a rest before another exercise.
    static func exercise(_ state: PlanState) -> String {
        if let next = state.next { return "next \(next.exercise.name)" }
        return onItem(state)
    }

    private static func onItem(_ state: PlanState) -> String {
        guard let item = state.plan.item(state.progress.item) else { return state.progress.item }
        let open = state.progress.set.flatMap { item.sets.indices.contains($0) ? $0 : nil }
        var parts = [item.exercise.name]
        if let open, item.sets.count > 1 { parts.append("set \(open + 1) of \(item.sets.count)") }
        if state.progress.progress.skipped.contains(item.id) { return "\(item.exercise.name), skipped" }
        if open == nil { parts.append(item.sets.count > 1 ? "all \(item.sets.count) sets done" : "done") }
        if let open, let set = set(item.sets[open]) { parts.append(set) }
        return parts.joined(separator: ", ")
    }

    /// The name of the current block, else its number; `nil` for a single block without a name.
    static func block(_ state: PlanState) -> String? {
        let count = state.plan.blocks.count
        return state.plan.blocks[state.timer.block].name
            ?? (count > 1 ? "block \(state.timer.block + 1) of \(count)" : nil)
    }

    /// The block's clock: `round 3 of 10, work, 0:41 left`.
    ///
    /// - Parameter moment: the time of running clocks; `nil` leaves them out.
    static func clock(_ state: PlanState, isRunning: Bool, at moment: Timestamp?) -> String? {
        let timer = state.timer
        let isPaced = state.plan.blocks[timer.block].timer.isPaced
        var parts: [String] = []
        if timer.rounds != 1 { parts.append("round \(timer.round)" + (timer.rounds.map { " of \($0)" } ?? "")) }
        switch timer.phase {
        case .work: if isPaced { parts.append("work") }
        case .rest: parts.append("rest")
        case .over:
            let isLeft = state.progress.set != nil && !state.progress.progress.skipped.contains(state.progress.item)
            parts.append(isLeft ? "time is up" : "done")
        }
        if let moment, timer.phase != .over {
            if let left = timer.endsAt.map({ $0.seconds(since: moment) }) ?? timer.remaining {
                parts.append("\(duration(max(0, left).rounded(.up))) left")
            } else if timer.type == .forTime {
                let ticked = isRunning ? max(0, moment.seconds(since: timer.asOf)) : 0
                parts.append("\(duration((timer.elapsed + ticked).rounded(.down))) so far")
            }
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// What is done: of an AMRAP block its rounds, else exercises.
    static func done(_ state: PlanState) -> String {
        state.plan.score(state.progress.progress, block: state.timer.block).map(score) ?? progress(state.progress)
    }

    /// The position in a plan, one value to a line.
    static func plan(_ state: PlanState, isRunning: Bool, at moment: Timestamp) -> String {
        let sets = state.progress.progress.completed.values.reduce(0) { $0 + $1.count }
        let rows: [(String, String?)] = [
            ("block", block(state)),
            ("clock", clock(state, isRunning: isRunning, at: moment)),
            ("on", "\(onItem(state)) (\(state.progress.item))"),
            ("next", state.next.map { "\($0.exercise.name) (\($0.id))" }),
            ("done", "\(done(state)), \(sets) set\(sets == 1 ? "" : "s")"),
        ]
        return rows.map { name, value in value.map { "  \(name): \($0)\n" } ?? "" }.joined()
    }
}

extension Text {
    /// The exercises of a plan, one to a line, with id and progress; `>` marks the current one.
    static func exercises(_ state: PlanState) -> String {
        let ids = state.plan.blocks.flatMap { $0.items.map(\.id) }
        let width = ids.map(\.count).max() ?? 0
        return state.plan.blocks.enumerated().map { number, block in
            let name = block.name ?? "block \(number + 1)"
            let items = block.items.map { item in
                let mark = item.id == state.progress.item ? ">" : " "
                let id = item.id.padding(toLength: width, withPad: " ", startingAt: 0)
                return "  \(mark) \(id)  \(self.item(item, of: block, state.progress.progress))\n"
            }
            return "  \(name), \(timer(block.timer))\n" + items.joined()
        }.joined()
    }

    /// `Push-up, 2/5 sets, 8 × 60 kg, hurts (or Bench Press, Dips)`.
    private static func item(
        _ item: SessionPlan.Item, of block: SessionPlan.Block, _ progress: PlanProgress
    ) -> String {
        var parts = [item.exercise.name]
        let done = progress.completed[item.id]?.count ?? 0
        if let rounds = block.timer.plannedRounds, !block.timer.isPaced {
            let sets = item.sets.count * rounds
            parts.append("\(done)/\(sets) set\(sets == 1 ? "" : "s")")
        } else if done > 0 {
            parts.append("\(done) set\(done == 1 ? "" : "s")")
        }
        if let next = item.sets.indices.first(where: { number in
            !(progress.completed[item.id] ?? []).contains { $0.set == number }
        }) {
            parts += [set(item.sets[next])].compactMap(\.self)
        }
        if progress.skipped.contains(item.id) { parts.append("skipped") }
        if progress.painFlagged.contains(item.id) { parts.append("hurts") }
        let others = item.exercises.indices.filter { $0 != item.chosen }.map { item.exercises[$0].name }
        return parts.joined(separator: ", ") + (others.isEmpty ? "" : " (or \(others.joined(separator: ", ")))")
    }

    /// `interval, 8 × 0:40 with 0:20 rest`.
    static func timer(_ timer: TimerConfiguration) -> String {
        let rounds = timer.rounds ?? 1
        switch timer.type {
        case .stopwatch: return "stopwatch"
        case .countdown: return "countdown, \(duration(timer.work ?? 0))"
        case .interval:
            let rest = timer.rest.map { " with \(duration($0)) rest" } ?? ""
            return "interval, \(rounds) × \(duration(timer.work ?? 0))\(rest)"
        case .emom: return "EMOM, \(rounds) × \(duration(timer.work ?? 60))"
        case .amrap: return "AMRAP, \(duration(timer.cap ?? 0))"
        case .forTime:
            let cap = timer.cap.map { ", within \(duration($0))" } ?? ""
            return "for time, \(rounds) round\(rounds == 1 ? "" : "s")\(cap)"
        }
    }

    /// A saved plan: its id, its name and when it was saved, and below it the exercises.
    static func savedPlan(_ saved: SavedPlans.Plan, _ timeZone: TimeZone) -> String {
        let time = day(saved.savedAt, timeZone)
        let names = saved.definition.sections.flatMap { $0.items.map(\.name) }.joined(separator: ", ")
        return "\(saved.plan)  \(planName(saved.definition)), saved \(time)\n  \(names)\n"
    }

    /// `2026-11-22 07:30`.
    static func day(_ time: Timestamp, _ timeZone: TimeZone) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = timeZone
        format.dateFormat = "yyyy-MM-dd HH:mm"
        return format.string(from: Date(timeIntervalSince1970: time.seconds))
    }

    /// A workout of the history: its id, its start where it was, and its totals.
    static func workout(_ workout: WorkoutOverview) -> String {
        let zone = workout.timeZone.flatMap { TimeZone(identifier: $0) } ?? TimeZone.current
        let totals = [
            workout.distance.map(distance), duration(workout.activeDuration), workout.averageHeartRate.map(heartRate),
        ]
        let text = "\(workout.name): \(totals.compactMap(\.self).joined(separator: ", "))"
        return "\(workout.session)  \(day(workout.place.at, zone))  \(text)\n"
    }

    static func planName(_ definition: WorkoutDefinition) -> String { definition.name ?? "a workout without a name" }
}
