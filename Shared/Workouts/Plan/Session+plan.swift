/// The plan of a session over time.
extension Session {
    /// The moment that the shown plan refers to: `now` for a live session whose clock runs, else the latest event.
    private func planMoment(_ now: Timestamp) -> Timestamp {
        if let recordedEnd { return recordedEnd }
        if isLive, case .unfinished(.active) = status { return now }
        return max(lastTransition, planned?.progress.latest ?? lastTransition)
    }

    /// Plan, progress and timer as of `now`; `nil` without a plan.
    package func planState(_ now: Timestamp) -> PlanState? {
        planned?.state(at: planMoment(now), recordedSegments)
    }

    /// The plan's progress as of `now`.
    package func planProgress(_ now: Timestamp) -> ProgressReport? {
        guard let planned else { return nil }
        let moment = planMoment(now)
        return planned.report(planned.timer(at: moment, recordedSegments), at: moment, recordedSegments)
    }

    /// The moment at which the phase of `now` ends by time alone; `nil` unless the clock of a live session runs.
    package func phaseEnd(after now: Timestamp) -> Timestamp? {
        guard let planned, isLive, case .unfinished(.active) = status else { return nil }
        let clock = ActiveClock(segments)
        return planned.timer(at: now, clock).phaseEnd.flatMap(clock.start)
    }

    /// The announcement of the phase of `now`; `nil` unless the clock of a live session runs.
    package func planCue(_ now: Timestamp) -> PlanCue? {
        guard let planned, isLive, case .unfinished(.active) = status else { return nil }
        let clock = ActiveClock(segments)
        return planned.cue(planned.timer(at: now, clock), at: now, clock)
    }

    /// Validates the item of an action and returns its id. `nil` means the current item.
    package func planItem(_ id: String?, at: Timestamp) throws(Refusal) -> String {
        var session = self
        session.endCountdown(by: at)
        if case .deleted = status { throw .sessionNotFound }
        guard let planned else { throw .noPlan }
        guard session.statusName.isUnderWay else {
            throw .invalidState(
                "the plan cannot change while the session is \(statusName.rawValue); allowed: active, paused, suspended"
            )
        }
        guard let id else { return planned.timer(at: at, segments).item }
        guard planned.plan.item(id) != nil else { throw .noSuchItem(id, in: planned.plan) }
        return id
    }

    /// Applies a coach's advice to an unfinished session.
    ///
    /// - Parameter at: the moment of the question.
    package mutating func take(_ advice: CoachAdvice, at: Timestamp) throws(Refusal) {
        guard isUnfinished else { throw .invalidState("the session is \(statusName.rawValue)") }
        guard var planned else { throw .noPlan }
        try planned.take(advice, at, ActiveClock(segments))
        self.planned = planned
    }
}

extension PlanProgress {
    /// The latest action of the user.
    var latest: Timestamp? {
        (visits.map(\.at) + [focus?.at].compactMap(\.self) + completed.values.flatMap { $0.map(\.at) }).max()
    }
}

extension Refusal {
    static let noPlan = Refusal.invalidState("the session has no plan; start one with a definition")
}
