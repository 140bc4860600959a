import Bus
import ServiceKit
import Workouts

/// What a reader gets: rows, positions and cues.
extension LiveRun {
    /// Metres by which a runner leads or is passed, metres before the first `lead`, and seconds between two.
    private static let lead = 5.0
    private static let leadFrom = 50.0
    private static let leadInterval = 10.0
    /// Milliseconds. Longer than that of one session's live values: each ceiling writes what is stored of the whole run.
    private static let ceilingLead: Int64 = 16_000
    /// Runners up to which each finish is a cue, and seconds between two in larger runs.
    private static let smallRun = 8
    private static let finishInterval = 30.0

    /// - Parameter shared: ``sharedRows`` of now.
    mutating func send(_ shared: [Partners.Row?], to index: Int, _ now: Moment) {
        let rows = rows(for: index, shared)
        if runners[index].isAwaited { giveCues(to: index, rows, now) }
        let isSplitAlone = readers[index].awaitsSplit && !isDueWithoutSplit(index, now)
        readers[index].awaitsSplit = false
        guard !isSplitAlone else { return }
        advanceRevision(now)
        let user = runners[index].participant.user
        var partners = Partners(run: run, revision: revision, now: now.wallClock, rows: rows)
        if let own = runners[index].figures {
            partners.distance = thousandths(own.meters)
            partners.activeSeconds = thousandths(own.seconds)
            partners.place = place(of: index, among: rows)
        }
        pending.append(.partners(user, partners))
        readers[index].sentAt = now
        countMessage(to: index, now)
        readers[index].seen = newest(for: index).count
        readers[index].isUrgent = false
        sendPositions(to: index, now)
    }

    private func isDueWithoutSplit(_ index: Int, _ now: Moment) -> Bool {
        var copy = readers[index]
        copy.awaitsSplit = false
        return due(index, copy, now).map { $0 <= now } ?? false
    }

    private mutating func advanceRevision(_ now: Moment) {
        revision = max(revision + 1, now.wallClock.milliseconds)
        guard
            let due = RevisionCeiling.due(
                ceiling, latest: revision, now: now.wallClock, lead: Self.ceilingLead)
        else { return }
        ceiling = due
        factsChanged()
    }

    // MARK: - Rows

    /// The rows of those who have begun, by index, without gaps.
    var sharedRows: [Partners.Row?] {
        runners.indices.map { runners[$0].participant.status.hasBegun ? row(of: $0) : nil }
    }

    private func rows(for reader: Int, _ shared: [Partners.Row?]) -> [Partners.Row] {
        let own = runners[reader]
        let hasBegun = own.participant.status.hasBegun && own.hasCurve
        let end = own.end
        var rows: [Partners.Row] = []
        rows.reserveCapacity(runners.count + ghosts.count - 1)
        for index in runners.indices where index != reader {
            guard var row = shared[index] else { continue }
            if isBlocked(index, reader) { (row.heartRate, row.activeEnergy) = (nil, nil) }
            if hasBegun, runners[index].hasCurve {
                let moment = RunGap.moment(end, runners[index].end)
                row.set(RunGap(from: own.curve, to: runners[index].curve, at: moment))
            }
            rows.append(row)
        }
        // Before the own first metres a ghost waits at the start.
        if own.participant.status.hasBegun {
            for ghost in ghosts where ghost.user.map({ !own.participant.blocked.contains($0) }) ?? true {
                let moment = RunGap.moment(end, ghost.end)
                let (elapsed, isOver) = (own.curve.duration, own.curve.duration >= ghost.end.seconds)
                let isPaused = roster?.settings.clock == .active && own.link == .paused
                var row = Partners.Row(.ghost(ghost.number), link: isOver ? .finished : isPaused ? .paused : .connected)
                let shown = min(elapsed, ghost.end.seconds)
                row.distance = thousandths(ghost.curve.metres(at: shown))
                row.activeSeconds = thousandths(shown)
                if hasBegun, row.link == .connected {
                    row.speed = thousandths((ghost.curve.metres(at: shown + 5) - ghost.curve.metres(at: shown)) / 5)
                }
                if hasBegun { row.set(RunGap(from: own.curve, to: ghost.curve, at: moment)) }
                rows.append(row)
            }
        }
        // Sorting numbers moves less than sorting rows.
        return rows.indices.sorted { Partners.Row.isBefore(rows[$0], rows[$1]) }.map { rows[$0] }
    }

    private func row(of index: Int) -> Partners.Row {
        let isFinished = runners[index].isFinished
        var row = Partners.Row(
            .participant(runners[index].participant.user), link: isFinished ? .finished : runners[index].link)
        if let figures = runners[index].figures {
            row.distance = thousandths(figures.meters)
            row.activeSeconds = thousandths(figures.seconds)
        }
        guard let metrics = runners[index].metrics else {
            if !isFinished { row.age = tenth(age(index)) }
            return row
        }
        row.newest = metrics.newest
        row.revision = metrics.revision
        guard !isFinished else { return row }
        row.age = tenth(age(index))
        row.isPaused = metrics.isPaused
        row.speed = metrics.speed
        row.pace = (row.distance ?? 0) >= 50 ? metrics.pace.flatMap { $0 <= 1_800 ? $0 : nil } : nil
        if runners[index].participant.sharing.heartRate {
            row.heartRate = metrics.heartRate
            row.activeEnergy = metrics.activeEnergy
        }
        return row
    }

    private func isBlocked(_ first: Int, _ second: Int) -> Bool {
        let (first, second) = (runners[first].participant, runners[second].participant)
        return !first.blocked.isEmpty && first.blocked.contains(second.user)
            || !second.blocked.isEmpty && second.blocked.contains(first.user)
    }

    /// `nil` while it is unknown: nothing is said of runners whose items do not arrive.
    private func place(of index: Int, among rows: [Partners.Row]) -> Int? {
        let gaps = rows.compactMap { $0.isCurrent ? $0.gapMeters : nil }
        return gaps.isEmpty || !isCurrent(index) ? nil : 1 + gaps.count { $0 > 0 }
    }

    private func isCurrent(_ index: Int) -> Bool {
        runners[index].isFinished || runners[index].link != .stale && runners[index].link != .disconnected
    }

    // MARK: - Positions

    private mutating func sendPositions(to index: Int, _ now: Moment) {
        guard readers[index].seenPositions != positionChanges, roster?.status == .running else { return }
        var rows: [RunPositions.Row] = []
        for other in runners.indices where other != index && runners[other].isAwaited {
            guard let place = runners[other].position, runners[other].participant.sharing.position,
                !isBlocked(other, index)
            else { continue }
            rows.append(
                RunPositions.Row(
                    runners[other].participant.user, at: runners[other].metrics?.newest, la: place.latitude,
                    lo: place.longitude))
        }
        readers[index].seenPositions = positionChanges
        // An empty message takes the last position away.
        guard !rows.isEmpty || readers[index].hadPositions else { return }
        readers[index].hadPositions = !rows.isEmpty
        pending.append(
            .positions(
                runners[index].participant.user,
                RunPositions(run: run, revision: revision, now: now.wallClock, rows: rows)))
    }

    // MARK: - Cues

    /// The cues of a runner about the others.
    private mutating func giveCues(to index: Int, _ rows: [Partners.Row], _ now: Moment) {
        guard let first = rows.first, first.gapMeters != nil else { return }
        if readers[index].awaitsSplit { giveGap(to: index, rows, now) }
        giveLead(to: index, first, now)
    }

    private mutating func giveGap(to index: Int, _ rows: [Partners.Row], _ now: Moment) {
        let units = runners[index].participant.units
        let number = Int(((runners[index].metrics?.distance ?? 0) / units.splitLength).rounded(.down))
        guard number > runners[index].facts.split ?? 0 else { return }
        runners[index].facts.split = number
        factsChanged()
        guard let place = place(of: index, among: rows) else { return }
        var cue = Announcement(.gap, at: now.wallClock, number: number)
        cue.unit = Announcement.Unit(units)
        cue.place = place
        cue.ahead = rows.last { $0.isCurrent && $0.gapMeters ?? 0 > 0 }?.neighbor
        cue.behind = rows.first { $0.isCurrent && $0.gapMeters.map { $0 <= 0 } ?? false }?.neighbor
        pending.append(.cue(runners[index].participant.user, cue))
    }

    private mutating func giveLead(to index: Int, _ first: Partners.Row, _ now: Moment) {
        guard let gap = first.gapMeters, runners[index].curve.distance >= Self.leadFrom, first.isCurrent,
            isCurrent(index)
        else { return }
        let isLeading: Bool
        if gap <= -Self.lead { isLeading = true } else if gap >= Self.lead { isLeading = false } else { return }
        let facts = runners[index].facts
        guard facts.isLeading != isLeading else { return }
        // No cue for a reader who never led, nor for a leader who has finished.
        if facts.isLeading == nil && !isLeading || first.link == .finished {
            runners[index].facts.isLeading = isLeading
            factsChanged()
            return
        }
        if let last = facts.leadAt, 0..<Self.leadInterval ~= now.wallClock.seconds(since: last) { return }
        runners[index].facts.isLeading = isLeading
        runners[index].facts.leadAt = now.wallClock
        factsChanged()
        var cue = Announcement(.lead, at: now.wallClock)
        cue.set(first.runner)
        cue.taken = isLeading
        pending.append(.cue(runners[index].participant.user, cue))
    }

    /// Metres at the goal or the end. `nil` if the session ended before its last items arrived, which may reach the goal.
    private func finishDistance(_ runner: LiveRunner) -> Double? {
        guard let (meters, _) = runner.figures else { return nil }
        guard case .distance(let goal) = roster?.settings.goal else {
            return thousandths(runner.facts.goalAt.map { runner.curve.metres(at: $0) } ?? meters)
        }
        if runner.facts.goalAt != nil { return goal }
        let speed = runner.metrics?.speed ?? runner.pace.map { 1_000 / $0 } ?? 0
        return meters + speed * RunnerDisplay.horizon < goal ? thousandths(meters) : nil
    }

    /// The cues of a finish or of leaving, to all others, once.
    mutating func tellStatus(of index: Int, _ now: Moment) {
        let runner = runners[index]
        var cue: Announcement
        if runner.participant.status == .left, runner.facts.toldLeft != true {
            runners[index].facts.toldLeft = true
            factsChanged()
            alarm(but: index)
            guard runner.facts.toldFinish != true, runner.facts.hasBegun == true else { return }
            cue = Announcement(.left, at: now.wallClock)
        } else if runner.isFinished, runner.facts.toldFinish != true {
            runners[index].facts.toldFinish = true
            factsChanged()
            alarm(but: index)
            cue = Announcement(.finished, at: now.wallClock)
            cue.distance = finishDistance(runner)
            cue.pace = runner.pace
        } else {
            return
        }
        cue.user = runner.participant.user
        let isLarge = runners.count { $0.participant.status.receivesPartners } + ghosts.count > Self.smallRun
        for reader in runners.indices where reader != index && runners[reader].participant.status.hasBegun {
            if cue.kind == .finished, isLarge {
                let last = runners[reader].facts.finishAt
                if let last, 0..<Self.finishInterval ~= now.wallClock.seconds(since: last) { continue }
                runners[reader].facts.finishAt = now.wallClock
            }
            pending.append(.cue(runners[reader].participant.user, cue))
        }
    }
}

extension Partners.Row {
    fileprivate mutating func set(_ gap: RunGap) {
        gapMeters = tenth(gap.meters)
        gapSeconds = tenth(gap.seconds)
    }

    /// The largest gap first; rows without one last, the longest distance first.
    fileprivate static func isBefore(_ first: Partners.Row, _ second: Partners.Row) -> Bool {
        switch (first.gapMeters, second.gapMeters) {
        case (let one?, let other?) where one != other: one > other
        case (_?, nil): true
        case (nil, _?): false
        case (_?, _?): first.runner < second.runner
        case (nil, nil):
            (second.distance ?? 0, first.runner) < (first.distance ?? 0, second.runner)
        }
    }

    fileprivate var neighbor: Announcement.Neighbor {
        Announcement.Neighbor(runner, seconds: gapSeconds?.magnitude, meters: gapMeters?.magnitude)
    }
}

extension Announcement {
    fileprivate mutating func set(_ runner: Runner) {
        switch runner {
        case .participant(let user): self.user = user
        case .ghost(let number): ghost = number
        }
    }
}

private func tenth(_ value: Double) -> Double { (value * 10).rounded() / 10 }
