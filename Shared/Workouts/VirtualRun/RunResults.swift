import Foundation

/// The results of a virtual run: a pure function of its settings and of each runner's facts, in any order.
package struct RunResults: Equatable, Sendable {
    /// What results need of a runner.
    package struct Entry: Equatable, Sendable {
        package enum Kind: Equatable, Sendable {
            /// - Parameter isWithdrawn: the session was deleted.
            case participant(ParticipantStatus, isWithdrawn: Bool)
            case ghost(Int)
        }

        /// Absent for a pacing partner and for a participant whose account was erased.
        package var user: User?
        package var kind: Kind
        /// What came before does not count: the run's start, also for late joiners; in rolling runs the own start.
        package var startsAt: Timestamp?
        package var sharing: Sharing
        package var workout: RunWorkout?
        /// The seconds by which the clock of a device was ahead.
        package var clockSkew: Double?
        /// By the run's clock and from `startsAt`, of every final row of the summaries that `workout` names; `nil` while
        /// some are missing, and without a measured distance.
        package var curve: RunCurve?

        package init(
            user: User?, _ kind: Kind, startsAt: Timestamp? = nil, sharing: Sharing = .group,
            workout: RunWorkout? = nil, curve: RunCurve? = nil
        ) {
            self.user = user
            self.kind = kind
            self.startsAt = startsAt
            self.sharing = sharing
            self.workout = workout
            self.curve = curve
        }
    }

    /// The best first, then runners without a place.
    package var rows: [RunResult]
    /// Whether a participant still runs, or a workout is missing or may change.
    package var isProvisional: Bool

    package init(_ settings: RunSettings, _ entries: [Entry]) {
        isProvisional = entries.contains(where: \.isPending)
        var standings = entries.compactMap { Standing($0, settings) }
        standings.sort(by: Standing.isBefore)
        let first = standings.first.flatMap { $0.rank == nil ? nil : $0 }
        for index in standings.indices where standings[index].rank != nil {
            let isEqual = index > 0 && standings[index].rank == standings[index - 1].rank
            standings[index].row.place = isEqual ? standings[index - 1].row.place : index + 1
            if let first, standings[index].row.place != 1 {
                standings[index].row.behind = standings[index].behind(first, settings.goal)
            }
        }
        rows = standings.map(\.row)
    }
}

extension RunResults.Entry {
    /// Whether the row may still change without a new revision of a complete workout.
    fileprivate var isPending: Bool {
        guard case .participant(let status, false) = kind else { return false }
        switch status {
        case .confirmed, .running: return true
        case .finished:
            guard let workout else { return true }
            return workout.incomplete == true || workout.distance != nil && curve == nil
        case .invited, .accepted, .declined, .left, .absent: return false
        }
    }
}

/// A row, and what it is compared by.
private struct Standing {
    /// The lower is the better: finished before `dnf`, then thousandths of seconds or metres.
    struct Rank: Equatable {
        var group: Int
        var first: Int64
        var second: Int64 = 0
    }

    var row: RunResult
    /// `nil` without a place.
    var rank: Rank?
    let curve: RunCurve?

    /// Returns `nil` for runners without a row: those who never began or still run.
    init?(_ entry: RunResults.Entry, _ settings: RunSettings) {
        let goal = settings.goal
        curve = entry.curve
        switch entry.kind {
        case .ghost(let number):
            guard let curve else { return nil }
            row = RunResult(user: entry.user, ghost: number, status: .finished)
            // A pacing partner of a run without a goal has no end.
            if curve.isEndless, goal == nil { return }
            rank(curve, goal)
        case .participant(.finished, isWithdrawn: false):
            row = RunResult(user: entry.user, status: .finished)
            if let workout = entry.workout { describe(workout, entry) }
            if let curve {
                rank(curve, goal)
            } else if let goal, let workout = entry.workout, workout.distance == nil {
                row.status = workout.hasReached(goal, settings.clock) ? .finished : .dnf
            }
        case .participant(_, isWithdrawn: true): row = RunResult(user: entry.user, status: .withdrawn)
        case .participant(.left, _): row = RunResult(user: entry.user, status: .left)
        case .participant(.absent, _): row = RunResult(user: entry.user, status: .absent)
        case .participant: return nil
        }
    }

    private mutating func describe(_ workout: RunWorkout, _ entry: RunResults.Entry) {
        row.distance = workout.distance
        row.activeDuration = workout.activeDuration
        row.elapsedDuration = workout.elapsedDuration
        row.averageHeartRate = entry.sharing.heartRate ? workout.averageHeartRate : nil
        row.environment = workout.environment
        row.incomplete = workout.incomplete == true ? true : nil
        row.clockSkew = entry.clockSkew
        row.hasRoute = workout.hasRoute && entry.sharing.route ? true : nil
        row.pauses = RunResult.Pauses(workout.segments, from: entry.startsAt)
    }

    private mutating func rank(_ curve: RunCurve, _ goal: RunGoal?) {
        let reached = goal.flatMap { curve.seconds(to: $0) }
        let seconds = reached ?? curve.duration
        var meters = curve.metres(at: seconds)
        switch goal {
        case .distance(let wanted)? where reached != nil:
            meters = wanted
            rank = Rank(group: 0, first: count(seconds))
        case .duration? where reached != nil: rank = Rank(group: 0, first: -count(meters))
        case .distance?, .duration?:
            row.status = .dnf
            rank = Rank(group: 1, first: -count(meters))
        case nil: rank = Rank(group: 0, first: -count(meters), second: count(seconds))
        }
        row.time = thousandths(seconds)
        row.distance = thousandths(meters)
        row.pace = runPace(seconds: seconds, meters: meters)
    }

    /// How far this runner is behind the first.
    func behind(_ first: Standing, _ goal: RunGoal?) -> RunResult.Behind? {
        guard let curve, let leader = first.curve, let time = row.time, let distance = row.distance,
            let firstTime = first.row.time, let firstDistance = first.row.distance
        else { return nil }
        switch goal {
        case .distance? where row.status == .finished:
            return RunResult.Behind(
                seconds: thousandths(time - firstTime),
                meters: thousandths(max(0, firstDistance - curve.metres(at: firstTime))))
        case .duration(let wanted)? where row.status == .finished:
            return RunResult.Behind(
                seconds: leader.seconds(to: distance).map { thousandths(max(0, wanted - $0)) },
                meters: thousandths(firstDistance - distance))
        case .distance?, .duration?, nil: return RunResult.Behind(meters: thousandths(firstDistance - distance))
        }
    }

    private func count(_ value: Double) -> Int64 { Int64((value * 1_000).rounded()) }

    static func isBefore(_ one: Standing, _ other: Standing) -> Bool { one.order < other.order }

    /// Runners without a place follow by the reason; equals by name, ghosts last.
    private var order: (Int, Int64, Int64, Int, String, Int) {
        let name = row.user?.description ?? ""
        let ghost = row.ghost ?? 0
        guard let rank else {
            let group =
                switch row.status {
                case .finished: row.ghost == nil ? 2 : 3
                case .dnf: 4
                case .absent: 5
                case .left: 6
                case .withdrawn: 7
                }
            return (group, 0, 0, min(ghost, 1), name, ghost)
        }
        return (rank.group, rank.first, rank.second, min(ghost, 1), name, ghost)
    }
}

extension RunWorkout {
    /// Whether a workout without a measured distance reached the goal.
    fileprivate func hasReached(_ goal: RunGoal, _ clock: RunClock) -> Bool {
        switch goal {
        case .distance: false
        case .duration(let seconds): (clock == .active ? activeDuration : elapsedDuration) >= seconds
        }
    }
}

extension RunResult.Pauses {
    /// The times between segments from the start of a run on.
    fileprivate init(_ segments: [Segment], from start: Timestamp?) {
        self.init(count: 0, seconds: 0)
        for (before, after) in zip(segments, segments.dropFirst()) {
            guard let end = before.end else { continue }
            let from = max(end, start ?? end)
            guard after.start > from else { continue }
            count += 1
            seconds += after.start.seconds(since: from)
        }
        seconds = thousandths(seconds)
    }
}
