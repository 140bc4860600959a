import Bus
import ServiceKit
import Workouts

/// The counts for the metrics of the service.
struct RunCounts: Equatable {
    var partners = 0
    var prompts = 0
    var corrupt = 0
    /// Seconds by which outputs since the last look were late.
    var lags: [Double] = []
}

extension VirtualRunMachine {
    private static let sweepInterval = 1.0
    /// Seconds between two stored live curves of a run.
    private static let curveInterval = 30.0

    /// Advances to `now`: new snapshots, deadlines, views; once a second also what concerns all runs.
    mutating func advance(to now: Moment) -> [VirtualRunAction] {
        var due = touched
        touched = []
        while let id = takeDue(now) { due.insert(id) }
        var actions = expireAggregators(now)
        for id in due.sorted() { actions += settle(id, now) }
        actions += sweep(now)
        return actions + reviseDue(now)
    }

    private mutating func settle(_ id: RunID, _ now: Moment) -> [VirtualRunAction] {
        var actions: [VirtualRunAction] = []
        let due = with(id) { (run: $0.runDue, live: $0.liveDue, now: $0.live.due) }
        if let passable = feed.passable(id), passable <= now, let due = due?.run, due <= now {
            actions += (try? change(id, now) { run throws(Refusal) in run.advance(to: now) }) ?? []
        }
        // What a message of now made due is not late.
        if let due, let isDue = due.now, isDue <= now {
            counts.lags.append(due.live.map { max(0, now.seconds(since: $0)) } ?? 0)
        }
        return actions + advanceLive(id, now)
    }

    func isSweepDue(_ now: Moment) -> Bool {
        sweptAt.map { now.seconds(since: $0) >= Self.sweepInterval } ?? true
    }

    private mutating func sweep(_ now: Moment) -> [VirtualRunAction] {
        guard isSweepDue(now) else { return [] }
        sweptAt = now
        var actions = advanceCreations(now) + collect(now)
        for id in entries.keys.sorted() {
            guard let entry = entries[id] else { continue }
            if isExpired(entry.run, now) {
                actions += purge(id)
            } else if isAtRest(entry) {
                actions.append(.evict(id))
            } else if entry.run.status.isOver {
                actions += clearViews(id, now)
            } else if entry.run.status == .running, isStale(entry, now) {
                entries[id]?.curvesAt = now
                actions.append(.saveCurves(id))
            }
        }
        return actions
    }

    private func isStale(_ entry: LoadedRun, _ now: Moment) -> Bool {
        entry.curvesAt.map { now.seconds(since: $0) >= Self.curveInterval } ?? true
    }

    func isExpired(_ run: Run, _ now: Moment) -> Bool {
        now.wallClock.seconds(since: run.overAt ?? run.createdAt) >= RunRecord.lifetime
    }

    /// Whether nothing happens in the run any more without a request or a later record.
    func isAtRest(_ entry: LoadedRun) -> Bool {
        entry.run.status.isOver && entry.record.views.values.allSatisfy(\.isCleared) && entry.pendingViews.isEmpty
            && entry.run.sessionKeys.isDisjoint(with: rows.wanted)
    }

    /// Removes everything of a run.
    mutating func purge(_ id: RunID) -> [VirtualRunAction] {
        guard let entry = entries[id] else { return [] }
        let users = entry.record.views.filter { !$0.value.isCleared }.keys.sorted()
        evict(id)
        return [.erase(id)] + users.map { .publishView(id, $0) }
            + entry.run.ghosts.compactMap(\.key).map { .unlinkGhost($0, id) }
            + entry.listings.sorted { $0.key < $1.key }.map { .unlist($0.key, $0.value) }
            + entry.parts.keys.sorted().map { .savePart($0, id) }
    }
}
